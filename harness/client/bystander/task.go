package bystander

import (
	"context"
	"slices"
	"time"

	"github.com/containerd/containerd/api/services/tasks/v1"
	typestask "github.com/containerd/containerd/api/types/task"
	containerd "github.com/containerd/containerd/v2/client"
	"github.com/containerd/containerd/v2/pkg/namespaces"
	"github.com/containerd/errdefs"
	"github.com/containerd/errdefs/pkg/errgrpc"
	"golang.org/x/sys/unix"

	"github.com/shimquake/shimquake/fixtures/payload"
	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/harness/client"
	"github.com/shimquake/shimquake/oracle/event"
	"github.com/shimquake/shimquake/oracle/exit"
	"github.com/shimquake/shimquake/oracle/inventory"
)

// task is a bystander (a container that no fault targets) with the task API. The
// harness reads its output from FIFOs, as dockerd does, also while containerd is down.
type task struct {
	*one
	read client.Reader
}

func (t *task) about(ctx context.Context, verb string, f func(context.Context, connection) error) error {
	return t.one.about(namespaces.WithNamespace(ctx, t.namespace), verb, f)
}

func (t *task) start(ctx context.Context) error {
	if err := t.expect(); err != nil {
		return err
	}
	t.identify(func(s *harness.Bystander) { s.ID = t.id })
	err := t.about(ctx, "create", func(ctx context.Context, c connection) error {
		image, err := c.GetImage(ctx, payload.Image)
		if err != nil {
			return err
		}
		made, err := c.NewContainer(ctx, t.id, containerd.WithImage(image), containerd.WithNewSnapshot(t.id, image),
			containerd.WithNewSpec(client.Spec(t.name, t.Truth.Name(), t.command())...), containerd.WithRuntime(t.Runtime, nil))
		if err != nil {
			return err
		}
		created, err := made.NewTask(ctx, t.read.Create(t.FIFOs))
		if err == nil {
			t.set(func(s *harness.Bystander) { s.PID = created.Pid() })
		}
		return err
	})
	if err != nil {
		return err
	}
	err = t.about(ctx, "start", func(ctx context.Context, c connection) error {
		_, err := c.TaskService().Start(ctx, &tasks.StartRequest{ContainerID: t.id})
		return errgrpc.ToNative(err)
	})
	if err != nil {
		return err
	}
	client.AwaitEvent(ctx, t.Events, inventory.Ref{Namespace: t.namespace, ID: t.id}, event.TopicStart)
	return t.awaitPayload(ctx)
}

// ask requests the container, and then the task's state, for which containerd calls the
// shim. The first request reaches no statement at which a fault can happen, so the
// client always sends it. The second one could use up a fault: NoExtraCalls omits it.
func (t *task) ask(ctx context.Context) error {
	err := t.about(ctx, "Get", func(ctx context.Context, c connection) error {
		_, err := c.ContainerService().Get(ctx, t.id)
		return err
	})
	if err != nil || t.NoExtraCalls {
		return err
	}
	return t.about(ctx, "State", func(ctx context.Context, c connection) error {
		r, err := c.TaskService().Get(ctx, &tasks.GetRequest{ContainerID: t.id})
		if err == nil {
			t.tells("State", r.Process)
		}
		return errgrpc.ToNative(err)
	})
}

// askOnce lists the tasks of the namespace, for which containerd calls each shim. It also
// sends SIGURG, for which the shim runs runc. The payload ignores the signal, as each Go
// program does.
func (t *task) askOnce(ctx context.Context) error {
	if err := t.list(ctx); err != nil {
		return err
	}
	return t.about(ctx, "Kill", func(ctx context.Context, c connection) error {
		_, err := c.TaskService().Kill(ctx, &tasks.KillRequest{ContainerID: t.id, Signal: uint32(unix.SIGURG)})
		return errgrpc.ToNative(err)
	})
}

func (t *task) list(ctx context.Context) error {
	return t.about(ctx, "List", func(ctx context.Context, c connection) error {
		r, err := c.TaskService().List(ctx, &tasks.ListTasksRequest{})
		if err != nil {
			return errgrpc.ToNative(err)
		}
		n := slices.IndexFunc(r.Tasks, func(p *typestask.Process) bool { return p.ID == t.id })
		if n < 0 {
			t.told(harness.BystanderTold{Verb: "List", At: time.Now()})
			return nil
		}
		t.tells("List", r.Tasks[n])
		return nil
	})
}

func (t *task) tells(verb string, p *typestask.Process) {
	t.told(harness.BystanderTold{
		Verb: verb, At: time.Now(), Listed: true, State: p.GetStatus().String(), PID: p.GetPid()})
}

// end deletes the task after the TaskExit event, as dockerd does.
func (t *task) end(ctx context.Context) error {
	defer t.read.Close()
	err := t.about(ctx, "wait", func(ctx context.Context, c connection) error {
		r, err := c.TaskService().Wait(ctx, &tasks.WaitRequest{ContainerID: t.id})
		if err == nil {
			t.reported(exit.ByWait, r.ExitStatus, r.ExitedAt.AsTime())
		}
		return errgrpc.ToNative(err)
	})
	if err != nil {
		return err
	}
	client.AwaitEvent(ctx, t.Events, inventory.Ref{Namespace: t.namespace, ID: t.id}, event.TopicExit)
	err = t.about(ctx, "delete", func(ctx context.Context, c connection) error {
		r, err := c.TaskService().Delete(ctx, &tasks.DeleteTaskRequest{ContainerID: t.id})
		if err == nil {
			t.reported(exit.ByDelete, r.ExitStatus, r.ExitedAt.AsTime())
		}
		return errgrpc.ToNative(err)
	})
	if err != nil {
		return err
	}
	return t.about(ctx, "remove", t.remove)
}

func (t *task) remove(ctx context.Context, c connection) error {
	made, err := c.LoadContainer(ctx, t.id)
	if err == nil {
		err = made.Delete(ctx, containerd.WithSnapshotCleanup)
	}
	return err
}

// discard kills and removes the task in any state. It records no call, because an earlier
// failure is already recorded.
func (t *task) discard(ctx context.Context) error {
	defer t.read.Close() // because end was not called after a failed start
	ctx = namespaces.WithNamespace(ctx, t.namespace)
	cl, conn, err := t.Connect(ctx)
	if err != nil {
		return err
	}
	service := cl.TaskService()
	_, err = service.Kill(ctx, &tasks.KillRequest{ContainerID: t.id, Signal: uint32(unix.SIGKILL)})
	if err == nil { // if not, the task has ended or does not exist
		_, _ = service.Wait(ctx, &tasks.WaitRequest{ContainerID: t.id}) // Delete returns the error
	}
	_, err = service.Delete(ctx, &tasks.DeleteTaskRequest{ContainerID: t.id})
	if err = errgrpc.ToNative(err); err != nil && !errdefs.IsNotFound(err) {
		return err
	}
	if err := t.remove(ctx, connection{cl, conn}); err != nil && !errdefs.IsNotFound(err) {
		return err
	}
	return nil
}

func (t *task) output() harness.Outputs { return t.read.Outputs() }

// rotate does nothing, because a task has no log.
func (t *task) rotate(context.Context) error { return nil }
