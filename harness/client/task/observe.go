package task

import (
	"context"
	"slices"
	"time"

	"github.com/containerd/containerd/api/services/tasks/v1"
	tasktypes "github.com/containerd/containerd/api/types/task"
	containerd "github.com/containerd/containerd/v2/client"
	"google.golang.org/grpc"

	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/harness/client"
	"github.com/shimquake/shimquake/harness/script"
	"github.com/shimquake/shimquake/oracle/callerr"
	"github.com/shimquake/shimquake/oracle/exit"
)

// query records the state of each object that the steps so far have used, and the list of
// all tasks.
func (c *Client) query(ctx context.Context, step int) {
	all := c.used(step)
	for _, of := range all {
		_ = c.observeState(ctx, step, of)
	}
	_ = c.observeList(ctx, step, all)
}

// used returns the objects of the first steps of the script.
func (c *Client) used(steps int) (all []script.Object) {
	for _, one := range c.steps[:steps] {
		for _, of := range one.Of {
			if !slices.Contains(all, of) {
				all = append(all, of)
			}
		}
	}
	return all
}

// noteTask records the state of an exited task, and the list of all tasks, before a
// delete step. `ctr task ls` shows these states, and dockerd relies on them after its own
// restart. The calls are not part of the workload.
func (c *Client) noteTask(ctx context.Context, of script.Object) {
	i, before := c.instance(of), max(0, client.StepOf(ctx)-1)
	if i.Waited.IsZero() || c.Beside != nil {
		return
	}
	call := harness.Call{Who: "oracle", Verb: "inventory", Of: i.ID, At: time.Now()}
	err := c.observeState(ctx, before, of)
	if err == nil && !c.NoExtraCalls {
		err = c.observeList(ctx, before, c.used(before))
	}
	call.Took, call.Err = time.Since(call.At), callerr.Of(err)
	c.Record.Call(call)
}

// observeList records the states of tasks in the list of all tasks.
func (c *Client) observeList(ctx context.Context, step int, used []script.Object) error {
	var of []string
	for _, o := range used {
		if !o.IsExec() {
			of = append(of, o.String())
		}
	}
	if len(of) == 0 {
		return nil
	}
	return c.Observe(ctx, step, harness.FieldList, of,
		func(ctx context.Context, cl *containerd.Client, _ *grpc.ClientConn) (map[string]string, error) {
			r, err := cl.TaskService().List(ctx, &tasks.ListTasksRequest{})
			if err != nil {
				return nil, native(err)
			}
			values := map[string]string{}
			for _, p := range r.Tasks {
				if of, ok := harness.ObjectNamed(p.ID); ok && of.Container < len(c.of) {
					c.learn(c.instance(of), nil, of, exit.ByTaskList, p)
					values[of.String()] = p.GetStatus().String()
				}
			}
			return values, nil
		})
}

// observeState records the state of a task or an exec.
func (c *Client) observeState(ctx context.Context, step int, of script.Object) error {
	i, e := c.instance(of), c.execOf(of)
	return c.Observe(ctx, step, harness.FieldState, []string{of.String()},
		func(ctx context.Context, cl *containerd.Client, _ *grpc.ClientConn) (map[string]string, error) {
			r, err := cl.TaskService().Get(ctx, &tasks.GetRequest{ContainerID: i.ID, ExecID: execID(of)})
			if err != nil {
				return nil, native(err)
			}
			c.learn(i, e, of, exit.ByTaskStatus, r.Process)
			return map[string]string{of.String(): r.GetProcess().GetStatus().String()}, nil
		})
}

// learn records the exit status in the state of a stopped process.
func (c *Client) learn(i *harness.Instance, e *harness.Exec, of script.Object, by exit.Observer,
	p *tasktypes.Process) {
	switch {
	case p.GetStatus() != tasktypes.Status_STOPPED:
	case !of.IsExec():
		c.Record.Reported(exit.Observation{
			Container: i.ID, Observer: by, Status: p.ExitStatus, At: p.ExitedAt.AsTime(), PID: int(p.Pid),
		})
	case e != nil && !e.Started.IsZero():
		c.execReported(i, e, by, p.ExitStatus, p.ExitedAt.AsTime(), p.Pid)
	}
}
