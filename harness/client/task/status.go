package task

import (
	"context"
	"time"

	"github.com/containerd/containerd/api/services/tasks/v1"
	tasktypes "github.com/containerd/containerd/api/types/task"
	"github.com/containerd/errdefs"
	"github.com/containerd/errdefs/pkg/errgrpc"

	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/oracle/callerr"
	"github.com/shimquake/shimquake/oracle/exit"
)

// lookAtTask asks for the state of a task that has ended, by its id and in the list of
// all: `ctr task ls` shows that, and dockerd goes by it when it comes back. It is no call
// of the workload.
func (c *Client) lookAtTask(ctx context.Context, i *harness.Instance) {
	if i.Waited.IsZero() {
		return
	}
	call := harness.Call{Who: "oracle", Verb: "look", Of: i.ID, At: time.Now()}
	err := c.askState(ctx, i)
	call.Took, call.Err = time.Since(call.At), callerr.Of(err)
	c.Record.Call(call)
}

func (c *Client) askState(ctx context.Context, i *harness.Instance) error {
	ctx, cancel := context.WithTimeout(ctx, c.CallTimeout)
	defer cancel()
	cl, _, err := c.Up(ctx)
	if err != nil {
		return err
	}
	one, err := cl.TaskService().Get(ctx, &tasks.GetRequest{ContainerID: i.ID})
	if err != nil {
		return err
	}
	c.stateSays(i, exit.ByTaskStatus, one.Process)
	if c.Quiet {
		return nil
	}
	all, err := cl.TaskService().List(ctx, &tasks.ListTasksRequest{})
	if err != nil {
		return err
	}
	for _, p := range all.Tasks {
		if p.ID == i.ID {
			c.stateSays(i, exit.ByTaskList, p)
		}
	}
	return nil
}

// lookAt asks for the state of a task, or of an exec in it: no call of the workload.
// What it says is noted with it; that there is no such exec is an answer.
func (c *Client) lookAt(ctx context.Context, i *harness.Instance, exec string, says func(*tasktypes.Process) string) {
	call := harness.Call{Who: "oracle", Verb: "look", Of: i.ID, At: time.Now()}
	ctx, cancel := context.WithTimeout(ctx, c.CallTimeout)
	defer cancel()
	cl, _, err := c.Up(ctx)
	if err == nil {
		var r *tasks.GetResponse
		if r, err = cl.TaskService().Get(ctx, &tasks.GetRequest{ContainerID: i.ID, ExecID: exec}); err == nil {
			call.Says = says(r.Process)
		}
	}
	call.Took = time.Since(call.At)
	if exec == "" || !errdefs.IsNotFound(errgrpc.ToNative(err)) {
		call.Err = callerr.Of(err)
	}
	c.Record.Call(call)
}

// stateSays notes what a state tells of an exit. That of a task which does not say that
// it has ended tells nothing: whether it had to is the judge's business.
func (c *Client) stateSays(i *harness.Instance, by exit.Observer, p *tasktypes.Process) {
	if p.GetStatus() == tasktypes.Status_STOPPED {
		c.Record.Reported(exit.Observation{
			Container: i.ID, Observer: by, Status: p.ExitStatus, At: p.ExitedAt.AsTime(), PID: int(p.Pid),
		})
	}
}

// seeStates asks, where no fault is planned, what containerd calls tasks when a call
// about them has succeeded: of those that run, only what does not end by itself.
func (c *Client) seeStates(ctx context.Context, verb string, all []*harness.Instance) {
	if c.Quiet || !c.Case.Faultless() {
		return
	}
	for _, i := range all {
		s := harness.TaskState{Call: verb, Told: i.PID}
		if verb == "start" {
			if i.Spec.Signal == "" && i.Spec.Stdin == 0 && !c.Case.Holds(i) || i.Spec.OOM == harness.OOMInit ||
				i.Spec.Segfault != "" {
				continue
			}
			s.Told = c.startedAs[i]
		}
		c.lookAt(ctx, i, "", func(p *tasktypes.Process) string {
			s.As, s.PID = p.GetStatus().String(), p.GetPid()
			return s.As
		})
		i.States = append(i.States, s)
	}
}
