package task

import (
	"context"
	"strconv"
	"sync"
	"time"

	"github.com/containerd/containerd/api/services/tasks/v1"
	"github.com/containerd/errdefs/pkg/errgrpc"

	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/oracle"
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
		c.Record.Reported(oracle.Observation{
			Container: i.ID, Observer: oracle.ByWait, Status: r.ExitStatus, At: r.ExitedAt.AsTime(), PID: int(i.PID),
		})
	}
	call.Took, call.Err, call.Unprovoked = time.Since(call.At), oracle.FailedOf(err), err != nil && !c.Fired()
	c.Record.Call(call)
}
