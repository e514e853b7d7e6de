package cri

import (
	"context"
	"errors"
	"strconv"
	"time"

	"k8s.io/client-go/util/exec"
	api "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/harness/client"
	"github.com/shimquake/shimquake/harness/client/play"
	"github.com/shimquake/shimquake/harness/script"
)

// execStream runs an exec as `kubectl exec` does. CRI responds with the address of a
// stream. The stream carries the exec's exit code, and ends with the exec.
//
// If the client closes the connection, containerd closes the exec's input
// (ExecIO.Attach). It closes its end of the exec's output when a write to the stream
// fails. Since v2.0 it also cancels the context of the request, and then kills the exec
// when it deletes it (execInternal). v1.7 waits for the exec to exit by itself. In all
// releases, no process of the exec may keep running.
func (c *Client) execStream(ctx context.Context, of script.Object, i *harness.Instance, e *harness.Exec) {
	e.Begun = time.Now()
	stdin := c.steps.Has("write", of)
	err := c.call(ctx, "Exec", i.Name, func(ctx context.Context, rt api.RuntimeServiceClient) error {
		r, err := rt.Exec(ctx, &api.ExecRequest{
			ContainerId: i.ID, Cmd: c.execCommand(i, e), Stdin: stdin, Stdout: true, Stderr: true})
		if err != nil {
			return err
		}
		s := c.openStream(ctx, r.Url, stdin)
		if stdin {
			e.Input = &harness.Input{}
		}
		c.mu.Lock()
		c.streams[of] = &input{stream: s, record: i.Record(*e), in: e.Input, goAway: func(context.Context) {
			if s.open() {
				e.Input.Closing, e.Sync.Broke = time.Now(), time.Now()
				s.breakOff()
			}
		}}
		c.mu.Unlock()
		play.Sent(ctx)
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

// input is the client's side of a stream with its standard input.
type input struct {
	*stream
	record string         // the record's name of the process that reads the input
	in     *harness.Input // of the exec, or of the container to which the client attached
	goAway func(context.Context)
}

// onStream returns a verb that calls do with the stream of its object.
func (c *Client) onStream(do func(ctx context.Context, s *input, arg string)) play.Verb {
	return func(ctx context.Context, of script.Object, arg string) error {
		c.mu.Lock()
		s := c.streams[of]
		c.mu.Unlock()
		if s != nil { // it is nil after a failed call, which is recorded
			do(ctx, s, arg)
		}
		return nil
	}
}

func (c *Client) write(ctx context.Context, s *input, arg string) {
	lines, _ := strconv.Atoi(arg) // it was parsed with the script
	c.mu.Lock()
	taken := c.taken[s.in]
	c.mu.Unlock()
	taken = c.FeedMore(ctx, s.in, s.feeder(s.record), lines, taken)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.taken[s.in] = taken
}

func (c *Client) closeInput(_ context.Context, s *input, _ string) {
	s.in.Closing = time.Now()
	_ = s.stdin.Close() // of a pipe
	s.in.Closed = time.Now()
}

func (c *Client) disconnect(ctx context.Context, s *input, _ string) { s.goAway(ctx) }
