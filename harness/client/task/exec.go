package task

import (
	"context"
	"time"

	"github.com/containerd/containerd/api/services/tasks/v1"
	tasktypes "github.com/containerd/containerd/api/types/task"
	containerd "github.com/containerd/containerd/v2/client"
	"github.com/containerd/errdefs"
	"github.com/containerd/errdefs/pkg/errgrpc"
	"github.com/containerd/typeurl/v2"
	"golang.org/x/sys/unix"

	"github.com/shimquake/shimquake/fixtures/payload"
	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/harness/client"
	"github.com/shimquake/shimquake/oracle/callerr"
	"github.com/shimquake/shimquake/oracle/exit"
	"github.com/shimquake/shimquake/poll"
)

// execsOf are the execs of a container: one that comes and goes while it runs, one that
// runs until its end, one that a signal ends before, one that leaves a child behind, and
// two that never begin.
func execsOf(spec harness.Container) (all []harness.Exec) {
	if spec.Exec > 0 {
		all = append(all, harness.Exec{ID: "e0", Want: uint32(spec.Exec)})
	}
	if spec.HeldExec {
		all = append(all, harness.Exec{ID: "e1", Want: (harness.Container{Signal: "SIGKILL"}).Want(), Held: true})
	}
	if spec.ExecSignal != "" {
		all = append(all, harness.Exec{ID: "e2", Want: (harness.Container{Signal: spec.ExecSignal}).Want(),
			Signal: int(harness.Signals[spec.ExecSignal])})
	}
	if spec.BackgroundExec {
		all = append(all, harness.Exec{ID: "e5", Want: client.BackgroundExit, Background: true})
	}
	if spec.NoSuchExec {
		all = append(all, harness.Exec{ID: "e3", Absent: true})
	}
	return all
}

// exec has the execs that do not run until the end come and go.
func (c *Client) exec(ctx context.Context, i *harness.Instance) {
	for n := range i.Execs {
		e := &i.Execs[n]
		if e.Held {
			continue
		}
		err := c.addExec(ctx, i, e)
		answered := c.waitEarly(ctx, i, e)
		if err == nil {
			err = c.startExec(ctx, i, e)
		}
		if err == nil {
			c.feed(ctx, i, e)
			c.signalExec(ctx, i, e)
			c.waitExec(ctx, i, e)
			c.killLate(ctx, i, e.ID, e.PID, e.Waited)
		} else if e.Signal != 0 && !e.Added.IsZero() { // it may run, and would not end by itself
			_ = c.killExec(ctx, i, e, "exec-kill", unix.SIGKILL) // noted as a call
		}
		c.deleteExec(ctx, i, e)
		answered()
		e.Outputs = c.outputs[e].close()
		c.learnInput(e.Input, i.Record(*e))
	}
}

// signalPatience is how long an exec may take to end by a signal, on a machine that has
// other things to do. It takes some 10 ms.
const signalPatience = 10 * time.Second

// signalExec has an exec end by its signal. One that is not there to handle it, or does
// not end by it, is killed.
func (c *Client) signalExec(ctx context.Context, i *harness.Instance, e *harness.Exec) {
	if e.Signal == 0 {
		return
	}
	name := i.Record(*e)
	c.AwaitRecord(ctx, name, true)
	if own, err := c.Payload(name); err == nil && !own.ReadyAt.IsZero() {
		err = c.persist(ctx, func(ctx context.Context) error {
			err := c.killExec(ctx, i, e, "exec-kill", unix.Signal(e.Signal))
			if err == nil {
				e.Signalled, e.Patience = time.Now(), signalPatience
			}
			return err
		})
		if err == nil && c.awaitEnd(ctx, i, e) {
			return
		}
	}
	_ = c.persist(ctx, func(ctx context.Context) error { // noted as a call
		return c.killExec(ctx, i, e, "exec-kill", unix.SIGKILL)
	})
}

// awaitEnd waits until an exec, or its container, has ended, and reports whether.
func (c *Client) awaitEnd(ctx context.Context, i *harness.Instance, e *harness.Exec) (ended bool) {
	ctx, cancel := context.WithTimeout(ctx, e.Patience)
	defer cancel()
	_ = poll.Until(ctx, payload.WriteEvery, func() (bool, error) { // that it has not is the judge's business
		own, err := c.Payload(i.Record(*e))
		ended = err == nil && own.Exited || c.Ended(i.ID, e.ID) || c.Ended(i.ID, "")
		return ended, nil
	})
	return ended
}

// beginHeld starts the execs that run until the end of their container, and endHeld
// learns how they have ended.
func (c *Client) beginHeld(ctx context.Context, i *harness.Instance) {
	for n := range i.Execs {
		if e := &i.Execs[n]; e.Held && c.addExec(ctx, i, e) == nil && c.startExec(ctx, i, e) == nil {
			c.AwaitRecord(ctx, i.Record(*e), true)
		}
	}
}

func (c *Client) endHeld(ctx context.Context, i *harness.Instance) {
	for n := range i.Execs {
		if e := &i.Execs[n]; e.Held {
			c.waitExec(ctx, i, e)
			c.killLate(ctx, i, e.ID, e.PID, e.Waited)
			c.deleteExec(ctx, i, e)
		}
	}
}

// addExec adds an exec, and startExec starts it, as dockerd does: what fails is not tried
// again.
func (c *Client) addExec(ctx context.Context, i *harness.Instance, e *harness.Exec) error {
	if err := c.Expect(i.Record(*e)); err != nil {
		return err
	}
	e.Begun = time.Now()
	err := c.call(ctx, "exec", i, func(ctx context.Context, cl *containerd.Client) error {
		r, err := c.execRequest(ctx, cl, i, e)
		if err == nil {
			_, err = cl.TaskService().Exec(ctx, r)
		}
		return errgrpc.ToNative(err)
	})
	if err == nil {
		e.Added = time.Now()
	}
	return err
}

func (c *Client) startExec(ctx context.Context, i *harness.Instance, e *harness.Exec) error {
	err := c.call(ctx, "exec-start", i, func(ctx context.Context, cl *containerd.Client) error {
		r, err := cl.TaskService().Start(ctx, &tasks.StartRequest{ContainerID: i.ID, ExecID: e.ID})
		if err != nil {
			return errgrpc.ToNative(err)
		}
		e.PID, e.Started = r.Pid, time.Now()
		return nil
	})
	if i.Spec.ExecStartAgain && (err == nil || e.Absent) {
		c.startExecAgain(ctx, i, e.ID)
	}
	return err
}

// startExecAgain sends the Start of an exec a second time. It is no call of the workload.
func (c *Client) startExecAgain(ctx context.Context, i *harness.Instance, exec string) {
	again := harness.Again{Verb: "start", Of: i.ID, Exec: exec, At: time.Now()}
	ctx, cancel := context.WithTimeout(ctx, c.CallTimeout)
	defer cancel()
	cl, _, err := c.Up(ctx)
	if err != nil {
		return // the next call of the workload reports a containerd that is gone
	}
	_, err = cl.TaskService().Start(ctx, &tasks.StartRequest{ContainerID: i.ID, ExecID: exec})
	again.Err = callerr.Of(err)
	c.Record.Set(func(h *harness.History) { h.Again = append(h.Again, again) })
}

// execRequest asks for a payload beside that of the container, with a record of its own.
func (c *Client) execRequest(
	ctx context.Context,
	cl *containerd.Client,
	i *harness.Instance,
	e *harness.Exec,
) (*tasks.ExecProcessRequest, error) {
	r, err := execSpec(ctx, cl, i, e)
	if err != nil {
		return nil, err
	}
	if out := c.output(i, e); out != nil {
		files, err := out.create(c.FIFOs.Name())(i.Record(*e))
		if err != nil {
			return nil, err
		}
		r.Stdin, r.Stdout, r.Stderr = files.Config().Stdin, files.Config().Stdout, files.Config().Stderr
		r.Terminal = files.Config().Terminal
	}
	return r, nil
}

// execSpec is the request without an output.
func execSpec(
	ctx context.Context,
	cl *containerd.Client,
	i *harness.Instance,
	e *harness.Exec,
) (*tasks.ExecProcessRequest, error) {
	made, err := cl.LoadContainer(ctx, i.ID)
	if err != nil {
		return nil, err
	}
	spec, err := made.Spec(ctx)
	if err != nil {
		return nil, err
	}
	name, value := client.Env(i.Record(*e))
	p := *spec.Process
	p.Args, p.Env = client.ExecCommand(i, *e), []string{name + "=" + value}
	what, err := typeurl.MarshalAnyToProto(&p)
	if err != nil {
		return nil, err
	}
	return &tasks.ExecProcessRequest{ContainerID: i.ID, ExecID: e.ID, Spec: what}, nil
}

// waitExec learns how an exec that was started has ended, and what its state tells then.
func (c *Client) waitExec(ctx context.Context, i *harness.Instance, e *harness.Exec) {
	if e.Started.IsZero() || c.persist(ctx, func(ctx context.Context) error { return c.waitOnce(ctx, i, e) }) != nil {
		return
	}
	c.lookAtExec(ctx, i, e, func(p *tasktypes.Process) {
		if p.GetStatus() == tasktypes.Status_STOPPED {
			c.execReported(i, e, exit.ByTaskStatus, p.ExitStatus, p.ExitedAt.AsTime(), p.Pid)
		}
	})
}

// deleteExec deletes an exec that was added, and asks for it once more.
func (c *Client) deleteExec(ctx context.Context, i *harness.Instance, e *harness.Exec) {
	if e.Added.IsZero() {
		return
	}
	err := c.persist(ctx, func(ctx context.Context) error { return c.deleteOnce(ctx, i, e) })
	if err == nil && !e.Deleted.IsZero() {
		c.lookAtExec(ctx, i, e, func(p *tasktypes.Process) { e.Kept = p.GetStatus().String() })
		if !e.Held && e.Kept == "" {
			c.tryExec(ctx, i, e)
		}
	}
}

// tryExec adds an exec of the same id, and deletes it. It is no call of the workload.
func (c *Client) tryExec(ctx context.Context, i *harness.Instance, e *harness.Exec) {
	call := harness.Call{Who: "oracle", Verb: "look", Of: i.ID, At: time.Now()}
	ctx, cancel := context.WithTimeout(ctx, c.CallTimeout)
	defer cancel()
	cl, _, err := c.Up(ctx)
	var r *tasks.ExecProcessRequest
	if err == nil {
		r, err = execSpec(ctx, cl, i, e)
	}
	if err == nil {
		e.UsedAgain = time.Now()
		_, err = cl.TaskService().Exec(ctx, r)
		e.Refused = callerr.Of(err)
	}
	if err == nil {
		_, err = cl.TaskService().DeleteProcess(ctx, &tasks.DeleteProcessRequest{ContainerID: i.ID, ExecID: e.ID})
	}
	call.Took, call.Err = time.Since(call.At), callerr.Of(err)
	c.Record.Call(call)
}

// persist tries a call again until it succeeds or finds nothing, for as long as one call
// may take: a container whose exec cannot be deleted is deleted all the same.
func (c *Client) persist(ctx context.Context, attempt func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, c.CallTimeout)
	defer cancel()
	return client.Until(ctx, attempt)
}

func (c *Client) waitOnce(ctx context.Context, i *harness.Instance, e *harness.Exec) error {
	return gone(c.call(ctx, "exec-wait", i, func(ctx context.Context, cl *containerd.Client) error {
		r, err := cl.TaskService().Wait(ctx, &tasks.WaitRequest{ContainerID: i.ID, ExecID: e.ID})
		if err != nil {
			return errgrpc.ToNative(err)
		}
		e.Waited = time.Now()
		c.execReported(i, e, exit.ByWait, r.ExitStatus, r.ExitedAt.AsTime(), e.PID) // Wait tells no pid
		return nil
	}))
}

func (c *Client) deleteOnce(ctx context.Context, i *harness.Instance, e *harness.Exec) error {
	return gone(c.call(ctx, "exec-delete", i, func(ctx context.Context, cl *containerd.Client) error {
		r, err := cl.TaskService().DeleteProcess(ctx, &tasks.DeleteProcessRequest{ContainerID: i.ID, ExecID: e.ID})
		if err != nil {
			return errgrpc.ToNative(err)
		}
		if e.Deleted = time.Now(); !e.Started.IsZero() {
			c.execReported(i, e, exit.ByDelete, r.ExitStatus, r.ExitedAt.AsTime(), r.Pid)
		}
		return nil
	}))
}

// gone reports no error where there is nothing left to ask.
func gone(err error) error {
	if errdefs.IsNotFound(err) {
		return nil
	}
	return err
}

// lookAtExec asks for the state of an exec. It is no call of the workload.
func (c *Client) lookAtExec(
	ctx context.Context,
	i *harness.Instance,
	e *harness.Exec,
	says func(*tasktypes.Process),
) {
	c.lookAt(ctx, i, e.ID, func(p *tasktypes.Process) string {
		says(p)
		return ""
	})
}

func (c *Client) execReported(
	i *harness.Instance,
	e *harness.Exec,
	by exit.Observer,
	status uint32,
	at time.Time,
	pid uint32,
) {
	c.Record.Reported(exit.Observation{
		Container: i.ID, Exec: e.ID, Observer: by, Status: status, At: at, PID: int(pid),
	})
}
