package task

import (
	"context"
	"slices"
	"time"

	"github.com/containerd/containerd/api/services/tasks/v1"
	tasktypes "github.com/containerd/containerd/api/types/task"
	containerd "github.com/containerd/containerd/v2/client"
	"github.com/containerd/containerd/v2/pkg/namespaces"
	"golang.org/x/sys/unix"

	"github.com/shimquake/shimquake/harness"
)

// about makes a status call about the container of a bystander.
func (c *Client) about(ctx context.Context, verb string,
	f func(ctx context.Context, cl *containerd.Client, id string) error) error {
	i := c.instances[0]
	return c.call(ctx, verb, i, func(ctx context.Context, cl *containerd.Client) error {
		return native(f(namespaces.WithNamespace(ctx, c.Namespace), cl, i.ID))
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

// Ask requests the container, and then the task's state, for which containerd calls the
// shim. The first request reaches no statement at which a fault can happen, so the
// client always sends it. The second one could use up a fault: NoExtraCalls omits it.
func (c *Client) Ask(ctx context.Context) error {
	err := c.about(ctx, "Get", func(ctx context.Context, cl *containerd.Client, id string) error {
		_, err := cl.ContainerService().Get(ctx, id)
		return err
	})
	if err != nil || c.NoExtraCalls {
		return err
	}
	return c.about(ctx, "State", func(ctx context.Context, cl *containerd.Client, id string) error {
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
	err := c.about(ctx, "List", func(ctx context.Context, cl *containerd.Client, id string) error {
		r, err := cl.TaskService().List(ctx, &tasks.ListTasksRequest{})
		if err != nil {
			return err
		}
		var listed *tasktypes.Process
		if n := slices.IndexFunc(r.Tasks, func(p *tasktypes.Process) bool { return p.ID == id }); n >= 0 {
			listed = r.Tasks[n]
		}
		c.told("List", listed)
		return nil
	})
	if err != nil {
		return err
	}
	return c.about(ctx, "Kill", func(ctx context.Context, cl *containerd.Client, id string) error {
		_, err := cl.TaskService().Kill(ctx, &tasks.KillRequest{ContainerID: id, Signal: uint32(unix.SIGURG)})
		return err
	})
}
