package cri

import (
	"context"
	"sync"
	"time"

	api "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/harness/client"
	"github.com/shimquake/shimquake/oracle/callerr"
)

// attached is a client that has attached to a container.
type attached struct {
	*stream
	is    *harness.Attach
	leave sync.WaitGroup // who breaks its connection meanwhile
}

// endPatience is how long a stream may take to end when its container has, on a machine
// that has other things to do. It takes some 10 ms.
const endPatience = 10 * time.Second

// attach has clients attach to a container and write its input. What it returns waits for
// the end of their streams, when the container has ended.
//
// One that closes its input is told of no more output, but where that ends that of the
// container, too (stdinOnce; ContainerIO.Attach of v2.4.2): who is to hear all keeps it.
func (c *Client) attach(ctx context.Context, i *harness.Instance) (ended func()) {
	if i.Spec.Stream == "" || i.Spec.Stdin == 0 {
		return func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	i.Input = &harness.Input{Lines: i.Spec.Stdin, Open: i.Spec.Stream == harness.StreamBroken}
	var all []*attached
	if i.Input.Open {
		all = c.attachBroken(ctx, i)
	} else if a := c.attachOne(ctx, i, "", true); a != nil {
		all = append(all, a)
		c.Feed(ctx, i.Input, a.feeder(i.Name))
		i.Input.Closing = time.Now()
		_ = a.stdin.Close() // of a pipe
		i.Input.Closed = time.Now()
	}
	return func() {
		defer cancel()
		until := time.Now().Add(endPatience)
		for _, a := range all {
			a.awaitEnd(ctx, until)
			i.Attaches = append(i.Attaches, *a.is)
		}
		i.Input.Read = c.InputRead(i.Name)
	}
}

// attachBroken has one client leave when its part of the input was read, and another
// write the rest; and one that leaves when the container writes.
func (c *Client) attachBroken(ctx context.Context, i *harness.Instance) (all []*attached) {
	first := c.attachOne(ctx, i, harness.BreaksInput, true)
	if first == nil {
		return nil
	}
	all = append(all, first)
	now := first
	to := first.feeder(i.Name)
	to.Alive = func() bool { return now.open() }
	to.Leave = func() {
		first.goAway()
		if reads := c.attachOne(ctx, i, harness.BreaksOutput, false); reads != nil {
			all = append(all, reads)
			reads.leave.Go(reads.leaveAtOutput)
		}
		if next := c.attachOne(ctx, i, "", true); next != nil {
			all, now = append(all, next), next
		}
	}
	to.Write = func(ctx context.Context, text []byte) (int, error) { return now.write(ctx, text) }
	c.Feed(ctx, i.Input, to)
	return all
}

// attachOne has a client attach; nil where CRI refuses.
func (c *Client) attachOne(ctx context.Context, i *harness.Instance, breaks harness.Break, stdin bool) *attached {
	a := &attached{is: &harness.Attach{Breaks: breaks, Begun: time.Now(), Patience: endPatience}}
	address := ""
	err := c.call(ctx, "Attach", i.Name, func(ctx context.Context, rt api.RuntimeServiceClient) error {
		r, err := rt.Attach(ctx, &api.AttachRequest{ContainerId: i.ID, Stdin: stdin, Stdout: true, Stderr: true})
		address = r.GetUrl()
		return err
	})
	if err != nil {
		return nil // a call that failed, which is noted
	}
	a.stream = c.openStream(ctx, address, stdin)
	return a
}

// goAway breaks the connection.
func (a *attached) goAway() {
	if a.open() {
		a.is.Broke = time.Now()
		a.breakOff()
	}
}

// leaveAtOutput breaks it when the container has written something.
func (a *attached) leaveAtOutput() {
	select {
	case <-a.out.began:
		a.goAway()
	case <-a.done:
	}
}

// awaitEnd waits for the end of the stream, until a time, and notes what came of it.
func (a *attached) awaitEnd(ctx context.Context, until time.Time) {
	patience := time.NewTimer(time.Until(until))
	defer patience.Stop()
	select {
	case <-a.done:
		a.is.Ended = time.Now()
		a.leave.Wait()
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
