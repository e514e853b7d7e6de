package cri

import (
	"context"
	"errors"
	"time"

	"k8s.io/client-go/util/exec"
	api "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/harness/client"
)

// execStream runs an exec as `kubectl exec` does: CRI answers with the address of a
// stream, which ends with the exec, and tells its exit.
//
// Where its client breaks the connection, containerd takes that for the end of the exec's
// input (ExecIO.Attach), and closes its end of the exec's output when it cannot write
// some to the stream. Since v2.0 the context of the request ends, too, so that the exec
// is killed when it is deleted (execInternal), whether or not it has seen that end; a
// v1.7 waits for it to end by itself. Nothing of it may live on.
func (c *Client) execStream(ctx context.Context, i *harness.Instance, e *harness.Exec) {
	e.Begun = time.Now()
	err := c.call(ctx, "Exec", i.Name, func(ctx context.Context, rt api.RuntimeServiceClient) error {
		r, err := rt.Exec(ctx, &api.ExecRequest{
			ContainerId: i.ID, Cmd: c.execCommand(i, e), Stdin: i.Spec.Stdin > 0,
			Stdout: true, Stderr: true})
		if err != nil {
			return err
		}
		s := c.openStream(ctx, r.Url, i.Spec.Stdin > 0)
		if i.Spec.Stdin > 0 {
			c.feedExec(ctx, i, e, s)
		}
		<-s.done
		e.Sync.Answered = time.Now()
		if !e.Sync.Broke.IsZero() {
			e.Added, e.Started = e.Sync.Broke, e.Sync.Broke
			return nil
		}
		var exit exec.CodeExitError
		if s.err != nil && !errors.As(s.err, &exit) {
			return s.err
		}
		e.Sync.Status = uint32(exit.Code)
		out := client.ReadLines(s.out.stdout.String(), s.out.stderr.String())
		e.Outputs = &out
		ended(e)
		return nil
	})
	c.noteFailed(ctx, e, err)
	if e.Input != nil {
		e.Input.Read = c.InputRead(i.Record(*e))
	}
}

// feedExec writes the input of an exec and closes it, which ends the exec, or writes the
// first part and breaks the connection.
func (c *Client) feedExec(ctx context.Context, i *harness.Instance, e *harness.Exec, s *stream) {
	e.Input = &harness.Input{Lines: i.Spec.Stdin}
	to := s.feeder(i.Record(*e))
	if !e.Sync.Breaks {
		c.Feed(ctx, e.Input, to)
		e.Input.Closing = time.Now()
		_ = s.stdin.Close() // of a pipe
		e.Input.Closed = time.Now()
		return
	}
	to.Leave = func() {
		if s.open() {
			e.Input.Closing, e.Sync.Broke = time.Now(), time.Now()
			s.breakOff()
		}
	}
	c.FeedFirst(ctx, e.Input, to)
}
