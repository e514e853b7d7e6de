package cri

import (
	"context"
	"time"

	api "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/harness/client"
	"github.com/shimquake/shimquake/harness/script"
	"github.com/shimquake/shimquake/oracle/callerr"
)

// attached is a client that has attached to a container.
type attached struct {
	*stream
	is *harness.Attach
}

// endPatience is how long a stream may take to end when its container has, on a machine
// that has other things to do. It takes some 10 ms.
const endPatience = 10 * time.Second

// attachStep has a client attach to a container until that ends. It has a standard input
// if a step writes one.
//
// One that closes its input is told of no more output, but where that ends that of the
// container, too (stdinOnce; ContainerIO.Attach of v2.4.2): who is to hear all keeps it.
func (c *Client) attachStep(ctx context.Context, of script.Object, _ string) error {
	i, stdin := c.current(of), c.steps.Has("write", of)
	is := &harness.Attach{Begun: time.Now(), Patience: endPatience}
	if c.steps.Has("disconnect", of) {
		if is.Breaks = harness.BreaksOutput; stdin {
			is.Breaks = harness.BreaksInput
		}
	}
	address := ""
	err := c.call(ctx, "Attach", i.Name, func(ctx context.Context, rt api.RuntimeServiceClient) error {
		r, err := rt.Attach(ctx, &api.AttachRequest{ContainerId: i.ID, Stdin: stdin, Stdout: true, Stderr: true})
		address = r.GetUrl()
		return err
	})
	if err != nil {
		return err
	}
	a := &attached{stream: c.openStream(ctx, address, stdin), is: is}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.attaches[i] = append(c.attaches[i], a)
	c.streams[of] = &input{stream: a.stream, record: i.Name, in: i.Input, goAway: func(ctx context.Context) {
		if is.Breaks == harness.BreaksOutput {
			a.awaitOutput(ctx)
		}
		a.goAway()
	}}
	return nil
}

// detached waits for the ends of the streams to a container that has ended.
func (c *Client) detached(ctx context.Context, i *harness.Instance) {
	c.mu.Lock()
	all := c.attaches[i]
	delete(c.attaches, i)
	c.mu.Unlock()
	until := time.Now().Add(endPatience)
	for _, a := range all {
		a.awaitEnd(ctx, until)
		i.Attaches = append(i.Attaches, *a.is)
		a.end()
	}
	if i.Input != nil {
		i.Input.Read = c.InputRead(i.Name)
	}
}

// goAway breaks the connection.
func (a *attached) goAway() {
	if a.open() {
		a.is.Broke = time.Now()
		a.breakOff()
	}
}

// awaitOutput waits until the container has written something.
func (a *attached) awaitOutput(ctx context.Context) {
	select {
	case <-a.out.began:
	case <-a.done:
	case <-ctx.Done():
	}
}

// awaitEnd waits for the end of the stream, until a time, and notes what came of it.
func (a *attached) awaitEnd(ctx context.Context, until time.Time) {
	patience := time.NewTimer(time.Until(until))
	defer patience.Stop()
	select {
	case <-a.done:
		a.is.Ended = time.Now()
		if a.is.Broke.IsZero() {
			a.is.Err = callerr.Of(a.err)
		}
	case <-patience.C:
	case <-ctx.Done():
	}
	if a.is.Breaks == "" {
		out := client.ReadLines(a.out.stdout.String(), a.out.stderr.String())
		a.is.Outputs = &out
	}
}
