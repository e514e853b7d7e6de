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

// feed writes to the standard input of a container, or of an exec in it, and closes that:
// the payload ends then. One that does not see the end of its input is killed.
func (c *Client) feed(ctx context.Context, of script.Object, i *harness.Instance, e *harness.Exec) {
	in, out, record, exec := &harness.Input{Lines: i.Spec.Stdin}, c.outputs[i], i.Name, ""
	if e == nil {
		i.Input = in
	} else {
		e.Input, out, record, exec = in, c.outputs[e], i.Record(*e), e.ID
	}
	alive := func() bool { return !c.Ended(i.ID, "") && (e == nil || !c.Ended(i.ID, exec)) }
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
	patience := in.Patience
	if err != nil { // what was not answered may have been done
		patience = 0
	}
	if c.AwaitEOF(ctx, record, patience, alive) {
		return
	}
	_ = c.persist(ctx, func(ctx context.Context) error { return gone(c.kill(ctx, of, "SIGKILL")) }) // noted as a call
}

// persist tries a call again until it succeeds or finds nothing, for as long as one call
// may take.
func (c *Client) persist(ctx context.Context, attempt func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, c.CallTimeout)
	defer cancel()
	return client.Until(ctx, attempt)
}

// gone reports no error where there is nothing left to ask.
func gone(err error) error {
	if errdefs.IsNotFound(err) {
		return nil
	}
	return err
}

// learnInput notes what a process has read of its input, when it is over.
func (c *Client) learnInput(in *harness.Input, record string) {
	if in != nil {
		in.Read = c.InputRead(record)
	}
}
