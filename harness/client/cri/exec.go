package cri

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/containerd/containerd/api/services/tasks/v1"
	"github.com/containerd/containerd/v2/pkg/namespaces"
	"google.golang.org/grpc/codes"
	api "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/shimquake/shimquake/fixtures/payload"
	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/harness/client"
	"github.com/shimquake/shimquake/harness/client/play"
	"github.com/shimquake/shimquake/harness/script"
	"github.com/shimquake/shimquake/oracle/callerr"
	"github.com/shimquake/shimquake/oracle/event"
	"github.com/shimquake/shimquake/oracle/inventory"
	"github.com/shimquake/shimquake/poll"
)

// execStep runs an exec with ExecSync, as kubelet runs its probes. It does not retry a
// failed call. An exec with the key `stays` runs until its timeout, its `cancel` step, or
// the end of its container.
func (c *Client) execStep(ctx context.Context, of script.Object, timeout string) error {
	done := make(chan struct{})
	defer close(done)
	sync := &harness.ExecSync{Breaks: c.steps.Has("cancel", of)}
	sync.Timeout, _ = time.ParseDuration(timeout) // it was parsed with the script
	c.runExec(ctx, of, sync, func(i *harness.Instance, e *harness.Exec) { c.execSync(ctx, of, i, e, done) })
	return nil
}

// streamStep runs an exec with Exec, through CRI's streaming server.
func (c *Client) streamStep(ctx context.Context, of script.Object, _ string) error {
	sync := &harness.ExecSync{Streamed: true, Breaks: c.steps.Has("disconnect", of)}
	c.runExec(ctx, of, sync, func(i *harness.Instance, e *harness.Exec) { c.execStream(ctx, of, i, e) })
	return nil
}

// runExec runs an exec, and records the files that it left in containerd's directories.
// It omits the files if the exec runs until its container ends.
func (c *Client) runExec(ctx context.Context, of script.Object, sync *harness.ExecSync,
	run func(*harness.Instance, *harness.Exec)) {
	i := c.current(of)
	spec := i.Spec.Execs[of.Exec]
	e := &harness.Exec{Name: fmt.Sprintf("e%d", of.Exec), Want: spec.Want(), Absent: spec.NoSuchCommand,
		LeavesChild: spec.LeavesChild, Sync: sync}
	e.Held = spec.Stays && !e.Timed() && !e.Orphaned()
	if err := c.CreateRecord(i.Record(*e)); err != nil {
		c.Record.Problem(harness.ByHarness, err)
		return
	}
	defer func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		i.Execs = append(i.Execs, *e)
	}()
	if e.Held {
		run(i, e)
		if !e.Waited.IsZero() {
			client.AwaitExec(ctx, c.Events, i.ID, event.TopicExit)
		}
		client.LearnExec(e, i.ID, c.Events.Events())
		return
	}
	var had inventory.Belongings
	var err error
	c.aside(func() { had, err = c.Belongings(i.ID) })
	run(i, e)
	c.aside(func() {
		c.statusAfter(ctx, i, e)
		if err == nil {
			e.Sync.Left, err = c.leftSince(ctx, had, i, e)
		}
	})
	c.Record.Failed("oracle", "lists the files that an exec has left", err)
}

// leftSince returns the files of a container in containerd's directories that are not in
// had. If the client has cancelled the call, leftSince waits until there are none,
// because no response said that containerd has cleaned up.
func (c *Client) leftSince(ctx context.Context, had inventory.Belongings, i *harness.Instance, e *harness.Exec) (
	left []inventory.Belonging, err error) {
	look := func() (bool, error) {
		has, err := c.Belongings(i.ID)
		left = slices.DeleteFunc(has.Have, func(b inventory.Belonging) bool {
			return slices.ContainsFunc(had.Have, func(was inventory.Belonging) bool { return was.Path == b.Path })
		})
		return len(left) == 0 || !e.Sync.Breaks, err
	}
	_, err = look()
	if err == nil && len(left) > 0 {
		timeout := cleanupTimeout
		if e.LeavesChild {
			timeout += harness.IODrain
		}
		ctx, cancel := context.WithTimeout(ctx, timeout)
		defer cancel()
		_ = poll.Until(ctx, statusPause, look) // the judge reports files that stay
	}
	return left, err
}

// cleanupTimeout is how long containerd may take to clean up after an exec whose client
// went away. It takes some 10 ms.
const cleanupTimeout = 3 * time.Second

// execSync makes the ExecSync call. If the exec has a timeout, DeadlineExceeded is an
// expected response.
func (c *Client) execSync(ctx context.Context, of script.Object, i *harness.Instance, e *harness.Exec,
	done <-chan struct{}) {
	e.Begun = time.Now()
	err := c.call(ctx, "ExecSync", i.Name, func(ctx context.Context, rt api.RuntimeServiceClient) error {
		inner, leave := context.WithCancel(ctx)
		defer leave()
		c.setCancel(of, func(ctx context.Context) {
			c.leave(inner, i, e, leave)
			select {
			case <-done:
			case <-ctx.Done():
			}
		})
		go func() {
			c.AwaitRecord(inner, i.Record(*e), true)
			play.Sent(ctx)
		}()
		r, err := rt.ExecSync(inner, &api.ExecSyncRequest{
			ContainerId: i.ID, Cmd: c.execCommand(i, e), Timeout: int64(e.Sync.Timeout / time.Second),
		})
		e.Sync.Answered = time.Now()
		if inner.Err() != nil && ctx.Err() == nil && callerr.Code(err) == codes.Canceled {
			e.Added, e.Started = e.Sync.Broke, e.Sync.Broke
			return nil
		}
		timeout := e.Timed() && ctx.Err() == nil && callerr.Code(err) == codes.DeadlineExceeded
		if err != nil && !timeout {
			return err
		}
		if e.Sync.Err = callerr.Of(err); err == nil {
			e.Sync.Status = uint32(r.ExitCode)
			out := client.ReadLines(string(r.Stdout), string(r.Stderr))
			e.Outputs = &out
		}
		ended(e)
		return nil
	})
	c.noteFailed(ctx, e, err)
}

// ended records the time of CRI's response as the time of all steps of the exec: add,
// start, wait and delete.
func ended(e *harness.Exec) {
	at := e.Sync.Answered
	e.Added, e.Started, e.Waited, e.Deleted = at, at, at, at
}

// noteFailed records the error of an exec, if there is one.
func (c *Client) noteFailed(ctx context.Context, e *harness.Exec, err error) {
	if err == nil {
		return
	}
	e.Sync.Answered, e.Sync.Err = time.Now(), callerr.Of(err)
	c.awaitDeath(ctx, err)
}

// leaveAfter is how many heartbeats after an exec's start event the client waits for,
// before it goes away. containerd's Start call to the shim must be over by then. If the
// client goes away earlier, containerd v2.0.14 may kill the exec too early. The exec then
// keeps running, because runc's shim does not delete a running exec.
const leaveAfter = 10

// leave calls goAway when the exec runs. For an exec that leaves a child, it calls goAway
// after the exec's exit, while the child keeps the output open. ctx ends when the call
// returns.
func (c *Client) leave(ctx context.Context, i *harness.Instance, e *harness.Exec, goAway func()) {
	record, topic, beats := i.Record(*e), event.TopicExecStart, leaveAfter
	if e.LeavesChild {
		topic, beats = event.TopicExit, 0
	}
	client.AwaitExec(ctx, c.Events, i.ID, topic)
	begun := c.Heartbeats(record)
	runs := func() (bool, error) { return c.Heartbeats(record) >= begun+beats, nil }
	if poll.Until(ctx, payload.WriteEvery, runs) == nil {
		e.Sync.Broke = time.Now()
		goAway()
	}
}

// deathTimeout is how long awaitDeath waits.
const deathTimeout = time.Second

// awaitDeath waits after a call that failed with Unavailable until the harness has
// noticed that containerd exited. Later steps then wait for the next containerd before
// they end the container.
func (c *Client) awaitDeath(ctx context.Context, err error) {
	if callerr.Of(err).Code != codes.Unavailable.String() {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, deathTimeout)
	defer cancel()
	_ = poll.Until(ctx, statusPause, func() (bool, error) { return c.ContainerdExited(), nil })
}

// execCommand returns the command of an exec. It names the exec's record, because the
// exec has the environment of its container, which names the container's record.
func (c *Client) execCommand(i *harness.Instance, e *harness.Exec) []string {
	_, record := client.Env(i.Record(*e))
	return append(client.ExecCommand(i, *e), "-truth", record)
}

// stillFor is how long the client counts the heartbeats of an exec that must have ended.
// A running exec writes 5 heartbeats in this time.
const stillFor = 5 * payload.WriteEvery

// statusAfter checks whether an exec still runs after its timeout, or after its client
// went away. It also records the state of an ended or refused exec, as containerd
// reports it.
func (c *Client) statusAfter(ctx context.Context, i *harness.Instance, e *harness.Exec) {
	last := event.TopicExit
	switch {
	case e.Absent:
		last = event.TopicExecAdded
	case e.Waited.IsZero() && e.Sync.Broke.IsZero():
		return
	}
	if !e.Sync.Broke.IsZero() {
		client.AwaitExec(ctx, c.Events, i.ID, last)
	}
	if e.Timed() || e.Orphaned() {
		before := c.Heartbeats(i.Record(*e))
		select {
		case <-time.After(stillFor):
		case <-ctx.Done():
		}
		e.Sync.Beats = c.Heartbeats(i.Record(*e)) - before
	}
	client.AwaitExec(ctx, c.Events, i.ID, last)
	if client.LearnExec(e, i.ID, c.Events.Events()); e.ID == "" || c.NoExtraCalls {
		return
	}
	ctx, cancel := context.WithTimeout(namespaces.WithNamespace(ctx, c.Namespace), c.CallTimeout)
	defer cancel()
	cl, _, err := c.Connect(ctx)
	if err != nil {
		return // ignored: the client's next call reports a containerd that is down
	}
	ctx, cancel = context.WithTimeout(ctx, cleanupTimeout)
	defer cancel()
	_ = poll.Until(ctx, statusPause, func() (bool, error) {
		e.Kept = ""
		r, err := cl.TaskService().Get(ctx, &tasks.GetRequest{ContainerID: i.ID, ExecID: e.ID})
		if err == nil {
			e.Kept = r.Process.GetStatus().String()
		}
		return err != nil || !e.Sync.Breaks, nil
	})
}
