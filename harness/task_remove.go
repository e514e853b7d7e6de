package harness

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/containerd/containerd/api/services/tasks/v1"
	"github.com/containerd/containerd/v2/client"
	"github.com/containerd/errdefs"
	"github.com/containerd/errdefs/pkg/errgrpc"
	"golang.org/x/sys/unix"

	"github.com/shimquake/shimquake/fixtures/payload"
	"github.com/shimquake/shimquake/oracle"
	"github.com/shimquake/shimquake/shims/fakeshim"
	"github.com/shimquake/shimquake/shims/runcshim"
)

// deleteByAll has each of the workload's deleters try, at once.
func (t *taskClient) deleteByAll(ctx context.Context, k *container) {
	done := make([]time.Time, max(t.x.Workload.Deleters, 1))
	var others sync.WaitGroup
	for i := range done[1:] {
		others.Go(func() {
			e := Entry{At: time.Now(), Who: "client", What: "delete " + k.id + ", by another client"}
			err := t.deleteBeside(ctx, k)
			if e.Took = time.Since(e.At); err != nil {
				e.Err = err.Error()
			} else {
				done[1+i] = time.Now()
			}
			t.x.timeline.add(e)
		})
	}
	t.delete(ctx, k)
	others.Wait()
	for _, at := range done {
		if k.life.Deleted.IsZero() {
			k.life.Deleted = at
		}
	}
}

// deleteBeside is another client's try. That it fails, because the first has been quicker, breaks nothing; what it is told of the exit is judged.
func (t *taskClient) deleteBeside(ctx context.Context, k *container) error {
	ctx, cancel := context.WithTimeout(ctx, t.x.Workload.CallTimeout)
	defer cancel()
	c, _, err := t.x.daemon.Up(ctx)
	if err != nil {
		return err
	}
	r, err := c.TaskService().Delete(ctx, &tasks.DeleteTaskRequest{ContainerID: k.id})
	if err != nil {
		return errgrpc.ToNative(err)
	}
	t.x.ledger.Observe(oracle.Observation{Container: k.id, Observer: oracle.ByDelete, Status: r.ExitStatus, At: r.ExitedAt.AsTime(), PID: int(k.pid)})
	return nil
}

// delete is the client's first try, without force.
func (t *taskClient) delete(ctx context.Context, k *container) {
	err := t.call(ctx, "delete", k, func(ctx context.Context, c *client.Client) error {
		task, err := load(ctx, c, k.id)
		if err != nil {
			return err
		}
		return t.deleteTask(ctx, k, task)
	})
	k.retry = err != nil && !t.x.overtaken(err)
}

func (t *taskClient) deleteTask(ctx context.Context, k *container, task client.Task, opts ...client.ProcessDeleteOpts) error {
	status, err := task.Delete(ctx, opts...)
	if err != nil {
		return err
	}
	k.life.Deleted = time.Now()
	t.told(k, oracle.ByDelete, status.ExitCode(), status.ExitTime())
	return nil
}

// remove is what dockerd does to get rid of a container, whatever state it is in: kill, wait, delete the task, delete the container; and again
// until containerd knows nothing of it.
func (t *taskClient) remove(ctx context.Context, k *container) error {
	err := until(ctx, func(ctx context.Context) error {
		return t.call(ctx, "remove", k, func(ctx context.Context, c *client.Client) error { return t.removeOnce(ctx, c, k) })
	})
	if err != nil {
		return fmt.Errorf("%s: %w", k.id, err)
	}
	return nil
}

func (t *taskClient) removeOnce(ctx context.Context, c *client.Client, k *container) error {
	made, err := c.LoadContainer(ctx, k.id)
	if errdefs.IsNotFound(err) {
		return t.removeSnapshot(ctx, c, k)
	}
	if err != nil {
		return err
	}
	task, err := made.Task(ctx, nil)
	if err != nil && !errdefs.IsNotFound(err) {
		return err
	}
	if err == nil {
		err = t.forceDelete(ctx, c, k, task)
	} else if k.retry {
		err = t.sendDelete(ctx, c, k)
	} else {
		err = nil
	}
	if err != nil {
		return err
	}
	return made.Delete(ctx, client.WithSnapshotCleanup)
}

// forceDelete kills what still runs and deletes the task.
func (t *taskClient) forceDelete(ctx context.Context, c *client.Client, k *container, task client.Task) error {
	status, err := task.Status(ctx)
	if errdefs.IsNotFound(err) && k.retry {
		return t.sendDelete(ctx, c, k)
	}
	if err != nil && !errdefs.IsNotFound(err) {
		return err
	}
	if status.Status != client.Stopped {
		exits, err := task.Wait(ctx)
		if err != nil {
			return err
		}
		err = task.Kill(ctx, unix.SIGKILL)
		if err == nil {
			t.x.ledger.Sent(k.id, "", int(unix.SIGKILL), "the client")
		} else if !errdefs.IsNotFound(err) {
			return err
		}
		select {
		case status := <-exits:
			if status.Error() == nil {
				t.waited(k, status)
				t.x.awaitExit(ctx, k.id)
			}
		case <-ctx.Done():
			return &oracle.CallError{Call: "wait", Err: ctx.Err()}
		}
	}
	err = t.deleteTask(ctx, k, task, client.WithProcessKill)
	if errdefs.IsNotFound(err) {
		if k.retry { // the shim has forgotten the task since the client looked for it
			return t.sendDelete(ctx, c, k)
		}
		return nil
	}
	k.retry = err != nil
	return err
}

// sendDelete sends a Delete that has failed once more. The client library's own Delete asks for the task's status first, is told by the shim that it
// has no such task any more, and gives up: the request that would clean up is never sent (seen on v2.4.2).
func (t *taskClient) sendDelete(ctx context.Context, c *client.Client, k *container) error {
	r, err := c.TaskService().Delete(ctx, &tasks.DeleteTaskRequest{ContainerID: k.id})
	if err = errgrpc.ToNative(err); err != nil {
		if errdefs.IsNotFound(err) {
			return nil
		}
		return err
	}
	k.retry, k.life.Deleted = false, time.Now()
	t.told(k, oracle.ByDelete, r.ExitStatus, r.ExitedAt.AsTime())
	return nil
}

// removeSnapshot removes what a create that failed between snapshot and container has left: both are the client's own.
func (t *taskClient) removeSnapshot(ctx context.Context, c *client.Client, k *container) error {
	err := c.SnapshotService("overlayfs").Remove(ctx, k.id)
	if errdefs.IsNotFound(err) {
		return nil
	}
	return err
}

// again uses the first id for a whole lifecycle without faults. The shim is the fake one, because with runc this look alone would cost as much as
// the workload: what of runc could be in the way, its state and its cgroup, the oracle has looked for, and the rest (metadata, snapshot, bundle,
// socket) is in the way of any shim. A thorough workload asks for runc.
func (t *taskClient) again(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(namespaced(ctx), t.x.Workload.Deadline)
	defer cancel()
	k := &container{name: t.containers[0].name, id: t.containers[0].id, shim: fakeshim.Runtime}
	if t.x.Workload.Thorough || t.x.Workload.Fakeshim != "" {
		k.shim = runcshim.Runtime
	}
	err := errors.Join(t.create(ctx, k), t.start(ctx, k))
	if err == nil {
		t.end(ctx, k)
		t.wait(ctx, k)
		err = toldAgain(k)
	}
	return errors.Join(err, t.remove(ctx, k))
}

// againBriefly creates the first id's container and snapshot once more, and deletes them.
func (t *taskClient) againBriefly(ctx context.Context) error {
	k := &container{name: t.containers[0].name, id: t.containers[0].id, shim: fakeshim.Runtime}
	err := t.call(namespaced(ctx), "create", k, func(ctx context.Context, c *client.Client) error {
		image, err := c.GetImage(ctx, payload.Image)
		if err != nil {
			return err
		}
		_, err = t.container(ctx, c, k, image)
		return err
	})
	return errors.Join(err, t.remove(namespaced(ctx), k))
}
