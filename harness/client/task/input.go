package task

import (
	"context"
	"time"

	"github.com/containerd/containerd/api/services/tasks/v1"
	containerd "github.com/containerd/containerd/v2/client"
	"github.com/containerd/errdefs/pkg/errgrpc"
	"golang.org/x/sys/unix"

	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/harness/client"
)

// feed writes to the standard input of a container, or of an exec in it, and closes that:
// the payload ends then. One that does not see the end of its input is killed.
func (c *Client) feed(ctx context.Context, i *harness.Instance, e *harness.Exec) {
	if i.Spec.Stdin == 0 {
		return
	}
	in, out, record, exec := &harness.Input{Lines: i.Spec.Stdin}, c.outputs[i], i.Name, ""
	if e == nil {
		i.Input = in
	} else {
		e.Input, out, record, exec = in, c.outputs[e], i.Record(*e), e.ID
	}
	alive := func() bool { return !c.Ended(i.ID, "") && (e == nil || !c.Ended(i.ID, exec)) }
	c.Feed(ctx, in, client.ToFIFO(c.FIFOs, out.Input(), record, alive))
	err := c.persist(ctx, func(ctx context.Context) error {
		return gone(c.call(ctx, "close-io", i, func(ctx context.Context, cl *containerd.Client) error {
			if in.Closing.IsZero() {
				in.Closing = time.Now()
			}
			_, err := cl.TaskService().CloseIO(ctx, &tasks.CloseIORequest{ContainerID: i.ID, ExecID: exec, Stdin: true})
			if err == nil {
				in.Closed = time.Now()
			}
			return errgrpc.ToNative(err)
		}))
	})
	patience := in.Patience
	if err != nil { // what was not answered may have been done
		patience = 0
	}
	if c.AwaitEOF(ctx, record, patience, alive) {
		return
	}
	if e == nil {
		c.signal(ctx, i, unix.SIGKILL)
	} else {
		_ = c.persist(ctx, func(ctx context.Context) error { return c.killExec(ctx, i, e, "kill", unix.SIGKILL) }) // a call
	}
}

// killExec sends a signal to an exec. What has ended needs none.
func (c *Client) killExec(
	ctx context.Context,
	i *harness.Instance,
	e *harness.Exec,
	verb string,
	sig unix.Signal,
) error {
	return gone(c.call(ctx, verb, i, func(ctx context.Context, cl *containerd.Client) error {
		_, err := cl.TaskService().Kill(ctx, &tasks.KillRequest{
			ContainerID: i.ID, ExecID: e.ID, Signal: uint32(sig)})
		return errgrpc.ToNative(err)
	}))
}

// learnInput notes what a process has read of its input, when it is over.
func (c *Client) learnInput(in *harness.Input, record string) {
	if in != nil {
		in.Read = c.InputRead(record)
	}
}
