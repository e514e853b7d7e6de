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

// endTimeout is how long the streams of a container may stay open after the container's
// end. On an idle machine they close in some 10 ms.
const endTimeout = 10 * time.Second

// attachStep attaches a client to a container until the container ends. The client also
// attaches to stdin if a `write` step exists for it.
//
// A client that must receive all output keeps its input open. Without stdinOnce,
// containerd sends nothing more after the client has closed its input
// (ContainerIO.Attach).
func (c *Client) attachStep(ctx context.Context, of script.Object, _ string) error {
	i, stdin := c.current(of), c.steps.Has("write", of)
	is := &harness.Attach{Begun: time.Now(), Timeout: endTimeout}
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

// detached waits for the end of all streams of a container that has ended, and records
// the streams.
func (c *Client) detached(ctx context.Context, i *harness.Instance) {
	c.mu.Lock()
	all := c.attaches[i]
	delete(c.attaches, i)
	c.mu.Unlock()
	until := time.Now().Add(endTimeout)
	for _, a := range all {
		a.awaitEnd(ctx, until)
		i.Attaches = append(i.Attaches, *a.is)
		a.end()
	}
	if i.Input != nil {
		i.Input.Read = c.InputRead(i.Name)
	}
}

// goAway closes the connection, if the stream is still open.
func (a *attached) goAway() {
	if a.open() {
		a.is.Broke = time.Now()
		a.breakOff()
	}
}

// awaitOutput waits until the client has received some output.
func (a *attached) awaitOutput(ctx context.Context) {
	select {
	case <-a.out.began:
	case <-a.done:
	case <-ctx.Done():
	}
}

// awaitEnd waits until the stream ends, but not longer than until a time, and records the
// result.
func (a *attached) awaitEnd(ctx context.Context, until time.Time) {
	select {
	case <-a.done:
		a.is.Ended = time.Now()
		if a.is.Broke.IsZero() {
			a.is.Err = callerr.Of(a.err)
		}
	case <-time.After(time.Until(until)):
	case <-ctx.Done():
	}
	if a.is.Breaks == "" {
		out := client.ReadLines(a.out.stdout.String(), a.out.stderr.String())
		a.is.Outputs = &out
	}
}
