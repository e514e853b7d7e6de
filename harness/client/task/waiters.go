package task

import (
	"context"
	"strconv"
	"sync"
	"time"

	"github.com/containerd/containerd/api/services/tasks/v1"
	"github.com/containerd/errdefs/pkg/errgrpc"

	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/oracle/callerr"
	"github.com/shimquake/shimquake/oracle/exit"
)

// waiters are the other clients that wait for the end of a container.
type waiters struct {
	done   sync.WaitGroup
	cancel context.CancelFunc
}

// beginWaiting has the other clients wait for the end of a container, concurrently.
func (c *Client) beginWaiting(ctx context.Context, i *harness.Instance) {
	n := c.Case.Workload.Waiters
	if n < 2 {
		return
	}
	w := &waiters{}
	ctx, w.cancel = context.WithCancel(ctx)
	for range n - 1 {
		w.done.Go(func() { c.waitBeside(ctx, i) })
	}
	c.waiters[i] = w
}

// underWay is how long a Wait is given to be under way, and refusedPatience how long it
// may take until it is answered when its exec is gone. It takes some ms.
const (
	underWay        = 50 * time.Millisecond
	refusedPatience = 5 * time.Second
)

// waitEarly has another client wait for the end of an exec whose start is to be refused,
// from before that, as CRI does. What it returns is called when the client has done with
// the exec: it waits until the other is answered, or goes away.
func (c *Client) waitEarly(ctx context.Context, i *harness.Instance, e *harness.Exec) (answered func()) {
	if !e.Absent || e.Added.IsZero() {
		return func() {}
	}
	cl, _, err := c.Up(ctx)
	if err != nil {
		return func() {} // what it comes to is for others to say
	}
	e.Early = &harness.EarlyWait{At: time.Now(), Patience: refusedPatience}
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, _ = cl.TaskService().Wait(ctx, &tasks.WaitRequest{ContainerID: i.ID, ExecID: e.ID}) // an error is an answer
	}()
	select {
	case <-time.After(underWay): // that it waits is not to be seen
	case <-done:
	}
	return func() {
		defer cancel()
		select {
		case <-done:
			if ctx.Err() == nil { // else it is the client's own time that was over
				e.Early.Answered = time.Now()
			}
		case <-time.After(e.Early.Patience):
			e.Early.Until = time.Now()
		}
	}
}

// endWaiting gives the others as long as a call may take once the client knows of the
// end, and has one more ask.
func (c *Client) endWaiting(ctx context.Context, i *harness.Instance) {
	w := c.waiters[i]
	if w == nil {
		return
	}
	late := time.AfterFunc(c.CallTimeout, w.cancel)
	w.done.Go(func() {
		ctx, cancel := context.WithTimeout(ctx, c.CallTimeout)
		defer cancel()
		c.waitBeside(ctx, i)
	})
	w.done.Wait()
	late.Stop()
	w.cancel()
}

// waitBeside is another client's Wait. That it fails where nothing was broken is the
// subject's fault.
func (c *Client) waitBeside(ctx context.Context, i *harness.Instance) {
	call := harness.Call{Who: harness.AnotherClient, Verb: "wait", Of: i.ID, At: time.Now()}
	cl, _, err := c.Up(ctx)
	var r *tasks.WaitResponse
	if err == nil {
		r, err = cl.TaskService().Wait(ctx, &tasks.WaitRequest{ContainerID: i.ID})
		err = errgrpc.ToNative(err)
	}
	if err == nil {
		call.Says = strconv.Itoa(int(r.ExitStatus))
		c.Record.Reported(exit.Observation{
			Container: i.ID, Observer: exit.ByWait, Status: r.ExitStatus, At: r.ExitedAt.AsTime(), PID: int(i.PID),
		})
	}
	call.Took, call.Err, call.Unprovoked = time.Since(call.At), callerr.Of(err), err != nil && !c.Fired()
	c.Record.Call(call)
}
