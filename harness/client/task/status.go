package task

import (
	"context"
	"time"

	"github.com/containerd/containerd/api/services/tasks/v1"
	tasktypes "github.com/containerd/containerd/api/types/task"

	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/oracle/callerr"
	"github.com/shimquake/shimquake/oracle/exit"
)

// noteTask records the state of an exited task, by its id and in the list of all tasks.
// `ctr task ls` shows this state, and dockerd relies on it after its own restart. The
// calls are not part of the workload.
func (c *Client) noteTask(ctx context.Context, i *harness.Instance) {
	if i.Waited.IsZero() {
		return
	}
	call := harness.Call{Who: "oracle", Verb: "inventory", Of: i.ID, At: time.Now()}
	err := c.askState(ctx, i)
	call.Took, call.Err = time.Since(call.At), callerr.Of(err)
	c.Record.Call(call)
}

func (c *Client) askState(ctx context.Context, i *harness.Instance) error {
	ctx, cancel := context.WithTimeout(ctx, c.CallTimeout)
	defer cancel()
	cl, _, err := c.Connect(ctx)
	if err != nil {
		return err
	}
	one, err := cl.TaskService().Get(ctx, &tasks.GetRequest{ContainerID: i.ID})
	if err != nil {
		return err
	}
	c.stateSays(i, exit.ByTaskStatus, one.Process)
	if c.NoExtraCalls {
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

// stateSays records the exit status in the state of a stopped task. Other tasks have
// none. The judge decides whether the task should have been stopped.
func (c *Client) stateSays(i *harness.Instance, by exit.Observer, p *tasktypes.Process) {
	if p.GetStatus() == tasktypes.Status_STOPPED {
		c.Record.Reported(exit.Observation{
			Container: i.ID, Observer: by, Status: p.ExitStatus, At: p.ExitedAt.AsTime(), PID: int(p.Pid),
		})
	}
}
