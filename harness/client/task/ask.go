package task

import (
	"context"
	"slices"
	"time"

	"github.com/containerd/containerd/api/services/tasks/v1"
	tasktypes "github.com/containerd/containerd/api/types/task"
	containerd "github.com/containerd/containerd/v2/client"
	"golang.org/x/sys/unix"

	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/harness/script"
)

// Ask requests the container, and then the task's state, for which containerd calls the
// shim. The first request reaches no statement at which a fault can happen, so the
// client always sends it. The second one could use up a fault: NoExtraCalls omits it.
func (c *Client) Ask(ctx context.Context) error {
	of, id := script.Container(0), c.instances[0].ID
	err := c.on(ctx, "Get", of, func(ctx context.Context, cl *containerd.Client) error {
		_, err := cl.ContainerService().Get(ctx, id)
		return err
	})
	if err != nil || c.NoExtraCalls {
		return err
	}
	return c.on(ctx, "State", of, func(ctx context.Context, cl *containerd.Client) error {
		r, err := cl.TaskService().Get(ctx, &tasks.GetRequest{ContainerID: id})
		if err == nil {
			c.told("State", r.Process)
		}
		return err
	})
}

// AskOnce lists the tasks of the namespace, for which containerd calls each shim. It also
// sends SIGURG, for which the shim runs runc. The payload ignores the signal, as each Go
// program does.
func (c *Client) AskOnce(ctx context.Context) error {
	of, id := script.Container(0), c.instances[0].ID
	err := c.on(ctx, "List", of, func(ctx context.Context, cl *containerd.Client) error {
		r, err := cl.TaskService().List(ctx, &tasks.ListTasksRequest{})
		if err != nil {
			return err
		}
		listed := slices.DeleteFunc(r.Tasks, func(p *tasktypes.Process) bool { return p.ID != id })
		c.told("List", append(listed, nil)[0])
		return nil
	})
	if err != nil {
		return err
	}
	return c.on(ctx, "Kill", of, func(ctx context.Context, cl *containerd.Client) error {
		_, err := cl.TaskService().Kill(ctx, &tasks.KillRequest{ContainerID: id, Signal: uint32(unix.SIGURG)})
		return err
	})
}

// told records the state of a task, or with nil that it is not in a list.
func (c *Client) told(verb string, p *tasktypes.Process) {
	is := harness.BystanderTold{Verb: verb, At: time.Now(), Listed: p != nil, PID: p.GetPid()}
	if p != nil {
		is.State = p.GetStatus().String()
	}
	c.Beside.Told(is)
}
