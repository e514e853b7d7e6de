package task

import (
	"context"
	"slices"
	"time"

	"github.com/containerd/containerd/api/services/tasks/v1"
	tasktypes "github.com/containerd/containerd/api/types/task"
	containerd "github.com/containerd/containerd/v2/client"
	"github.com/containerd/errdefs"

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
		_ = c.observe(ctx, step, harness.FieldState, []script.Object{of}, c.askedState(of))
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
	err := c.observe(ctx, before, harness.FieldState, []script.Object{of}, c.askedState(of))
	if err == nil && !c.NoExtraCalls {
		err = c.observeList(ctx, before, c.used(before))
	}
	call.Took, call.Err = time.Since(call.At), callerr.Of(err)
	c.Record.Call(call)
}

// observeList records the states of tasks in the list of all tasks.
func (c *Client) observeList(ctx context.Context, step int, used []script.Object) error {
	tasks := slices.DeleteFunc(used, script.Object.IsExec)
	if len(tasks) == 0 {
		return nil
	}
	return c.observe(ctx, step, harness.FieldList, tasks, c.askedList)
}

// observe makes one call that returns the values of some objects. It records the values,
// and returns the error of the call. A request that was not sent observes nothing, nor
// does one that failed at the end of the script's time.
func (c *Client) observe(ctx context.Context, step int, field string, all []script.Object,
	ask func(context.Context, *containerd.Client) (map[script.Object]string, error)) error {
	o := harness.Observed{Step: step, At: time.Now(), Field: field}
	limited, cancel := context.WithTimeout(ctx, c.CallTimeout)
	defer cancel()
	cl, _, err := c.Connect(limited)
	if over := client.Over(limited); over != nil {
		return over
	}
	var values map[script.Object]string
	if err == nil {
		values, err = ask(limited, cl)
	}
	if err != nil && client.Over(ctx) != nil {
		return err
	}
	o.Took = time.Since(o.At)
	if err = native(err); !errdefs.IsNotFound(err) {
		o.Err = callerr.Of(err)
	}
	c.Record.Set(func(h *harness.History) {
		for _, of := range all {
			o.Of, o.Value = of.String(), values[of]
			h.Observed = append(h.Observed, o)
		}
	})
	return err
}

// askedState returns a function that requests the state of a task or an exec.
func (c *Client) askedState(
	of script.Object,
) func(context.Context, *containerd.Client) (map[script.Object]string, error) {
	i, e := c.instance(of), c.execOf(of)
	return func(ctx context.Context, cl *containerd.Client) (map[script.Object]string, error) {
		r, err := cl.TaskService().Get(ctx, &tasks.GetRequest{ContainerID: i.ID, ExecID: execID(of)})
		if err != nil {
			return nil, err
		}
		c.learn(i, e, of, exit.ByTaskStatus, r.Process)
		return map[script.Object]string{of: r.GetProcess().GetStatus().String()}, nil
	}
}

// askedList requests the list of all tasks.
func (c *Client) askedList(ctx context.Context, cl *containerd.Client) (map[script.Object]string, error) {
	r, err := cl.TaskService().List(ctx, &tasks.ListTasksRequest{})
	if err != nil {
		return nil, err
	}
	values := map[script.Object]string{}
	for _, p := range r.Tasks {
		if of, ok := harness.ObjectNamed(p.ID); ok && of.Container < len(c.of) {
			c.learn(c.instance(of), nil, of, exit.ByTaskList, p)
			values[of] = p.GetStatus().String()
		}
	}
	return values, nil
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
