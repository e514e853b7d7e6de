package task

import (
	"context"
	"time"

	"github.com/containerd/containerd/api/services/tasks/v1"
	containerd "github.com/containerd/containerd/v2/client"
	"github.com/containerd/errdefs"

	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/harness/client"
	"github.com/shimquake/shimquake/harness/script"
)

// feed writes the standard input of a container, or of an exec if e is not nil. Then it
// closes the input, so that the payload exits. It kills a payload that does not read the
// end of its input in time.
func (c *Client) feed(ctx context.Context, of script.Object, i *harness.Instance, e *harness.Exec) {
	in, out, record, exec := &harness.Input{Lines: i.Spec.Stdin}, c.outputs[i], i.Name, ""
	if e == nil {
		i.Input = in
	} else {
		e.Input, out, record, exec = in, c.outputs[e], i.Record(*e), e.ID
	}
	alive := func() bool { return !c.HasExitEvent(i.ID, "") && (e == nil || !c.HasExitEvent(i.ID, exec)) }
	c.Feed(ctx, in, client.ToFIFO(c.FIFOs, out.Input(), record, alive))
	err := c.persist(ctx, func(ctx context.Context) error {
		return gone(c.on(ctx, "close-io", of, func(ctx context.Context, cl *containerd.Client) error {
			if in.Closing.IsZero() {
				in.Closing = time.Now()
			}
			_, err := cl.TaskService().CloseIO(ctx, &tasks.CloseIORequest{ContainerID: i.ID, ExecID: exec, Stdin: true})
			if err == nil {
				in.Closed = time.Now()
			}
			return err
		}))
	})
	timeout := in.Timeout
	if err != nil { // check once, because a call without a response may have succeeded
		timeout = 0
	}
	if c.AwaitEOF(ctx, record, timeout, alive) {
		return
	}
	_ = c.persist(ctx, func(ctx context.Context) error { return gone(c.kill(ctx, of, "SIGKILL")) }) // recorded as a call
}

// persist retries a call until it succeeds, for at most CallTimeout.
func (c *Client) persist(ctx context.Context, attempt func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, c.CallTimeout)
	defer cancel()
	return client.Until(ctx, attempt)
}

// gone returns nil if err is NotFound, and err otherwise.
func gone(err error) error {
	if errdefs.IsNotFound(err) {
		return nil
	}
	return err
}

// learnInput records the input that a process has read. It is called after the process
// has exited.
func (c *Client) learnInput(in *harness.Input, record string) {
	if in != nil {
		in.Read = c.InputRead(record)
	}
}
