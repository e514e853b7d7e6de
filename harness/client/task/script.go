package task

import (
	"context"
	"fmt"
	"time"

	"github.com/containerd/containerd/api/services/tasks/v1"
	tasktypes "github.com/containerd/containerd/api/types/task"
	containerd "github.com/containerd/containerd/v2/client"
	"github.com/containerd/errdefs"
	"github.com/containerd/errdefs/pkg/errgrpc"
	"google.golang.org/grpc/status"

	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/harness/client"
	"github.com/shimquake/shimquake/harness/client/play"
	"github.com/shimquake/shimquake/harness/script"
	"github.com/shimquake/shimquake/oracle/callerr"
	"github.com/shimquake/shimquake/oracle/exit"
)

// queries reports whether the client requests states and lists after each step. In a case
// with faults it does so only before a delete step (noteTask).
func (c *Client) queries() bool { return !c.NoExtraCalls && c.Case.Faultless() && c.Beside == nil }

// verbs returns the client's function for each verb of a script.
func (c *Client) verbs() map[string]play.Verb {
	return map[string]play.Verb{
		"new": c.record, "create": c.create, "start": c.start, "end": c.end, "kill": c.kill, "wait": c.wait,
		"delete": c.delete, "pause": c.pause, "resume": c.resume, "add": c.add, script.Exec: c.exec,
		"reuse-pid": c.reusePID, "restart": c.restart, "soak": c.soak, script.Install: c.install,
	}
}

// instance returns the current container of an object.
func (c *Client) instance(of script.Object) *harness.Instance {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.of[of.Container]
}

// on makes a call of a step about an object.
func (c *Client) on(ctx context.Context, verb string, of script.Object,
	f func(context.Context, *containerd.Client) error) error {
	return c.Call(ctx, verb, of.String(), func(ctx context.Context) error {
		cl, _, err := c.Connect(ctx)
		if err != nil {
			return err
		}
		return native(f(ctx, cl))
	})
}

// native converts a gRPC error to an error of package errdefs. It returns other errors
// unchanged.
func native(err error) error {
	if _, ok := status.FromError(err); ok {
		return errgrpc.ToNative(err)
	}
	return err
}

// execID returns containerd's id of an exec, or "" for a container's init.
func execID(of script.Object) string {
	if !of.IsExec() {
		return ""
	}
	return fmt.Sprintf("e%d", of.Exec)
}

// record creates a container without a task.
func (c *Client) record(ctx context.Context, of script.Object, _ string) error {
	i := c.instance(of)
	if err := c.CreateRecord(i.Name); err != nil {
		return err
	}
	i.Begun = time.Now()
	return c.on(ctx, "new", of, func(ctx context.Context, cl *containerd.Client) error {
		_, err := c.container(ctx, cl, i)
		return err
	})
}

// create creates the task, and before that the container if it does not exist. A second
// task with the same id has another Instance, with a payload record of its own.
func (c *Client) create(ctx context.Context, of script.Object, _ string) error {
	i := c.instance(of)
	first, known := i.Created.IsZero(), !i.Begun.IsZero()
	if !first {
		i = c.next(i)
	}
	if err := c.CreateRecord(i.Name); err != nil {
		return err
	}
	if !known || !first {
		i.Begun = time.Now()
	}
	if of.Container == 0 && first && !c.again {
		c.NoteInit("task", i.ID, 0)
	}
	err := c.on(ctx, "create", of, func(ctx context.Context, cl *containerd.Client) error {
		made, err := c.recorded(ctx, cl, i, known, first)
		if err != nil {
			return err
		}
		task, err := made.NewTask(ctx, c.io(i))
		if err == nil {
			c.mu.Lock()
			i.PID, i.Created = task.Pid(), time.Now()
			c.mu.Unlock()
		}
		return err
	})
	if err != nil {
		return err
	}
	c.begin(of, i)
	if of.Container == 0 && !c.again {
		c.NoteInit("task", i.ID, int(i.PID))
	}
	c.AwaitCreated(ctx, []*harness.Instance{i})
	return nil
}

// recorded returns the container for a task, and creates it if it does not exist. For a
// second task it updates the specification of the container, which still is that of the
// first.
func (c *Client) recorded(ctx context.Context, cl *containerd.Client, i *harness.Instance, known, first bool) (
	containerd.Container, error) {
	if !known {
		return c.container(ctx, cl, i)
	}
	made, err := cl.LoadContainer(ctx, i.ID)
	switch {
	case errdefs.IsNotFound(err):
		return c.container(ctx, cl, i)
	case err == nil && !first:
		err = made.Update(ctx, containerd.UpdateContainerOpts(containerd.WithNewSpec(c.spec(i)...)))
	}
	return made, err
}

// next returns an Instance for another task with the id of was.
func (c *Client) next(was *harness.Instance) *harness.Instance {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := 1
	for _, i := range c.instances {
		if i.ID == was.ID {
			n++
		}
	}
	return &harness.Instance{Name: fmt.Sprintf("%s-%d", was.ID, n), ID: was.ID, Spec: was.Spec}
}

// begin makes i the container that later steps mean with of.
func (c *Client) begin(of script.Object, i *harness.Instance) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.of[of.Container] != i {
		c.of[of.Container] = i
		c.instances = append(c.instances, i)
	}
}

// load loads a container and its task, as the Go library does before each call. The
// client then calls the tasks service directly, because the library omits calls that it
// expects to fail.
func load(ctx context.Context, cl *containerd.Client, id string) (containerd.Task, error) {
	made, err := cl.LoadContainer(ctx, id)
	if err != nil {
		return nil, err
	}
	return made.Task(ctx, nil)
}

// loaded calls load for a container, and does nothing for an exec.
func (c *Client) loaded(ctx context.Context, cl *containerd.Client, of script.Object) error {
	if of.IsExec() {
		return nil
	}
	_, err := load(ctx, cl, c.instance(of).ID)
	return err
}

func (c *Client) start(ctx context.Context, of script.Object, _ string) error {
	i, e := c.instance(of), c.execOf(of)
	err := c.on(ctx, "start", of, func(ctx context.Context, cl *containerd.Client) error {
		if err := c.loaded(ctx, cl, of); err != nil {
			return err
		}
		r, err := cl.TaskService().Start(ctx, &tasks.StartRequest{ContainerID: i.ID, ExecID: execID(of)})
		switch {
		case err != nil:
		case e != nil:
			e.PID, e.Started = r.Pid, time.Now()
		default:
			i.Started = time.Now()
		}
		return err
	})
	switch {
	case err != nil:
	case e != nil:
		c.AwaitRecord(ctx, i.Record(*e), e.Held || e.Stays || e.Signal != 0)
	default:
		c.AwaitStarted(ctx, []*harness.Instance{i})
	}
	return err
}

// end lets a payload end as configured: it sends the signal, closes the input, or lets
// the payload exit.
func (c *Client) end(ctx context.Context, of script.Object, _ string) error {
	i, e := c.instance(of), c.execOf(of)
	signal := i.Spec.Signal
	if of.IsExec() {
		signal = i.Spec.Execs[of.Exec].Signal
	} else {
		c.KillChild(ctx, i)
	}
	switch {
	case of.IsExec() && e == nil:
		return nil
	case signal != "":
		return c.endBySignal(ctx, of, signal)
	case i.Spec.Stdin > 0:
		c.feed(ctx, of, i, e)
		return nil
	case !of.IsExec() && !c.KeepsRunning(i):
		return nil
	}
	return c.Call(ctx, "end", of.String(), func(ctx context.Context) error {
		if e != nil {
			c.ReleaseExec(ctx, i, *e)
		} else {
			c.Release(ctx, i)
		}
		return nil
	})
}

// endBySignal sends the configured signal. If the payload ignores that signal,
// endBySignal sends SIGKILL after StopGrace.
func (c *Client) endBySignal(ctx context.Context, of script.Object, signal string) error {
	err := c.kill(ctx, of, signal)
	if err != nil || of.IsExec() || !c.instance(of).Spec.IgnoresTerm {
		return err
	}
	select {
	case <-time.After(harness.StopGrace):
		return c.kill(ctx, of, "SIGKILL")
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (c *Client) kill(ctx context.Context, of script.Object, signal string) error {
	i, e, number := c.instance(of), c.execOf(of), harness.Signals[signal]
	err := c.on(ctx, "kill", of, func(ctx context.Context, cl *containerd.Client) error {
		if err := c.loaded(ctx, cl, of); err != nil {
			return err
		}
		_, err := cl.TaskService().Kill(ctx, &tasks.KillRequest{
			ContainerID: i.ID, ExecID: execID(of), Signal: uint32(number)})
		return err
	})
	switch {
	case err != nil:
	case e == nil:
		c.Record.Sent(i.ID, int(number))
	case int(number) == e.Signal:
		e.Signalled, e.Timeout = time.Now(), signalTimeout
	}
	return err
}

// wait waits for the exit status and the exit event. Without the wait for the event,
// events of the next step could come before it. For a container wait retries until the
// time limit, and records all attempts as one call.
func (c *Client) wait(ctx context.Context, of script.Object, _ string) error {
	if of.IsExec() {
		return c.on(ctx, "wait", of, func(ctx context.Context, cl *containerd.Client) error {
			return c.waitOnce(ctx, cl, of)
		})
	}
	err := c.CheckTime(ctx, "wait", of.String())
	if err != nil {
		return err
	}
	call := harness.Call{Who: "client", Verb: "wait", Of: of.String(), At: time.Now()}
	gaveUp := client.Until(ctx, func(ctx context.Context) error {
		cl, _, up := c.Connect(ctx)
		if err = up; err == nil {
			if err = c.loaded(ctx, cl, of); err == nil {
				err = c.waitOnce(ctx, cl, of)
			}
		}
		if err = native(err); err == nil || errdefs.IsNotFound(err) {
			return nil
		}
		return &callerr.Error{Call: "wait", Err: err}
	})
	if gaveUp != nil {
		err = gaveUp // it wraps containerd's last response, but err may only say that ctx ended
	}
	c.Note(ctx, &call, err)
	if err != nil {
		return &callerr.Error{Call: "wait", Err: err}
	}
	return nil
}

func (c *Client) waitOnce(ctx context.Context, cl *containerd.Client, of script.Object) error {
	i, e := c.instance(of), c.execOf(of)
	r, err := cl.TaskService().Wait(ctx, &tasks.WaitRequest{ContainerID: i.ID, ExecID: execID(of)})
	switch {
	case err != nil:
		return err
	case !of.IsExec():
		c.waited(i, r.ExitStatus, r.ExitedAt.AsTime())
		c.AwaitExit(ctx, i.ID)
		c.AwaitOOM(ctx, i)
	case e != nil && !e.Started.IsZero():
		e.Waited = time.Now()
		c.execReported(i, e, exit.ByWait, r.ExitStatus, r.ExitedAt.AsTime(), e.PID) // Wait reports no pid
	}
	return nil
}

func (c *Client) pause(ctx context.Context, of script.Object, _ string) error {
	return c.on(ctx, "pause", of, func(ctx context.Context, cl *containerd.Client) error {
		_, err := cl.TaskService().Pause(ctx, &tasks.PauseTaskRequest{ContainerID: c.instance(of).ID})
		return err
	})
}

// resume resumes a task. The client comes back only if the task is still paused. The
// shim refuses to resume another task, with an error that has no code (init_state.go of
// process in v2.4.2).
func (c *Client) resume(ctx context.Context, of script.Object, _ string) error {
	err := c.on(ctx, "resume", of, func(ctx context.Context, cl *containerd.Client) error {
		_, err := cl.TaskService().Resume(ctx, &tasks.ResumeTaskRequest{ContainerID: c.instance(of).ID})
		return err
	})
	if c.ShouldRetry(err) && !c.mayBePaused(ctx, of) {
		return nil
	}
	return err
}

// mayBePaused reports whether a task is paused, or its state is unknown.
func (c *Client) mayBePaused(ctx context.Context, of script.Object) bool {
	ctx, cancel := context.WithTimeout(ctx, c.CallTimeout)
	defer cancel()
	cl, _, err := c.Connect(ctx)
	if err != nil {
		return true
	}
	r, err := cl.TaskService().Get(ctx, &tasks.GetRequest{ContainerID: c.instance(of).ID})
	if err != nil {
		return !errdefs.IsNotFound(native(err))
	}
	state := r.GetProcess().GetStatus()
	return state != tasktypes.Status_CREATED && state != tasktypes.Status_RUNNING && state != tasktypes.Status_STOPPED
}

// restart restarts containerd, and records the files and mounts of running containers
// before and after. CallTimeout does not apply, because the wait for containerd is not a
// call.
func (c *Client) restart(ctx context.Context, _ script.Object, _ string) error {
	call := harness.Call{Who: "client", Verb: "restart", At: time.Now()}
	err := c.RestartNow(ctx, c.running()...)
	c.Note(ctx, &call, err)
	return err
}

// soak lets the containers run for some time.
func (c *Client) soak(ctx context.Context, _ script.Object, long string) error {
	d, err := time.ParseDuration(long)
	if err != nil {
		return err
	}
	c.Soak(ctx, d, c.running()...)
	return nil
}

// running returns the ids of the containers that the client has started and whose exit it
// has not received.
func (c *Client) running() (ids []string) {
	for _, i := range c.of {
		if !i.Started.IsZero() && i.Waited.IsZero() {
			ids = append(ids, i.ID)
		}
	}
	return ids
}

func (c *Client) install(ctx context.Context, _ script.Object, programs string) error {
	return c.Call(ctx, script.Install, "", func(context.Context) error {
		return c.Install(script.InstallationOf(programs))
	})
}
