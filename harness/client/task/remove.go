package task

import (
	"context"
	"time"

	"github.com/containerd/containerd/api/services/tasks/v1"
	containerd "github.com/containerd/containerd/v2/client"
	"github.com/containerd/errdefs"
	"github.com/containerd/errdefs/pkg/errgrpc"
	"golang.org/x/sys/unix"

	"github.com/shimquake/shimquake/fixtures/containerd/daemon"
	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/harness/client"
	"github.com/shimquake/shimquake/harness/script"
	"github.com/shimquake/shimquake/oracle/callerr"
	"github.com/shimquake/shimquake/oracle/exit"
)

// delete deletes a task or an exec. Before the deletion of a task it requests the task's
// state, as the Go library does.
func (c *Client) delete(ctx context.Context, of script.Object, _ string) error {
	if of.IsExec() {
		return c.deleteExec(ctx, of)
	}
	i := c.instance(of)
	if !c.queries() {
		c.noteTask(ctx, of)
	}
	err := c.on(ctx, "delete", of, func(ctx context.Context, cl *containerd.Client) error {
		task, err := load(ctx, cl, i.ID)
		if err == nil {
			_, err = task.Status(ctx)
		}
		if err != nil {
			return err
		}
		r, err := cl.TaskService().Delete(ctx, &tasks.DeleteTaskRequest{ContainerID: i.ID})
		if err == nil {
			c.deleted(i)
			c.reported(i, exit.ByDelete, r.ExitStatus, r.ExitedAt.AsTime(), r.Pid)
		}
		return err
	})
	overtaken := errdefs.IsNotFound(err) && (c.steps.Uses("restart") || c.steps.Count("delete", of) > 1)
	c.failedDelete(i, err != nil && !overtaken)
	c.endPIDReuse(ctx, of)
	return err
}

func (c *Client) deleteExec(ctx context.Context, of script.Object) error {
	i, e := c.instance(of), c.execOf(of)
	err := c.on(ctx, "delete", of, func(ctx context.Context, cl *containerd.Client) error {
		r, err := cl.TaskService().DeleteProcess(ctx, &tasks.DeleteProcessRequest{ContainerID: i.ID, ExecID: execID(of)})
		if err == nil && e != nil {
			if e.Deleted = time.Now(); !e.Started.IsZero() {
				c.execReported(i, e, exit.ByDelete, r.ExitStatus, r.ExitedAt.AsTime(), r.Pid)
			}
		}
		return err
	})
	c.endPIDReuse(ctx, of)
	return err
}

func (c *Client) deleted(i *harness.Instance) {
	c.mu.Lock()
	defer c.mu.Unlock()
	i.Deleted = time.Now()
}

// failedDelete records whether the client must retry the Delete request directly, without
// the Go library (sendDelete). A client that acts as ctr never does that, because ctr
// uses only the Go library.
func (c *Client) failedDelete(i *harness.Instance, failed bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.undeleted[i] = failed && c.Case.Workload.API != harness.Ctr
}

func (c *Client) deleteTask(
	ctx context.Context,
	i *harness.Instance,
	task containerd.Task,
	opts ...containerd.ProcessDeleteOpts,
) error {
	pid := uint32(0) // read from the response, because the library returns only the status
	ctx = daemon.WithReplies(ctx, func(reply any) {
		if r, ok := reply.(*tasks.DeleteResponse); ok {
			pid = r.Pid
		}
	})
	status, err := task.Delete(ctx, opts...)
	if err != nil {
		return err
	}
	c.deleted(i)
	c.reported(i, exit.ByDelete, status.ExitCode(), status.ExitTime(), pid)
	return nil
}

// remove removes a container in any state, as dockerd does: it kills the task, waits,
// deletes the task and deletes the container. It retries until containerd no longer knows
// the container.
func (c *Client) remove(ctx context.Context, i *harness.Instance) error {
	return wrap(i, client.Until(ctx, func(ctx context.Context) error {
		return c.call(
			ctx,
			"remove",
			i,
			func(ctx context.Context, cl *containerd.Client) error { return c.removeOnce(ctx, cl, i) },
		)
	}))
}

func (c *Client) removeOnce(ctx context.Context, cl *containerd.Client, i *harness.Instance) error {
	made, err := cl.LoadContainer(ctx, i.ID)
	if errdefs.IsNotFound(err) {
		return removeSnapshot(ctx, cl, i)
	}
	if err != nil {
		return err
	}
	task, err := made.Task(ctx, nil)
	switch {
	case errdefs.IsNotFound(err) && c.undeleted[i]:
		err = c.sendDelete(ctx, cl, i)
	case errdefs.IsNotFound(err):
		err = nil
	case err == nil:
		err = c.forceDelete(ctx, cl, i, task)
	}
	if err != nil {
		return err
	}
	return made.Delete(ctx, containerd.WithSnapshotCleanup)
}

// forceDelete kills the task if it still runs, and then deletes the task.
func (c *Client) forceDelete(
	ctx context.Context,
	cl *containerd.Client,
	i *harness.Instance,
	task containerd.Task,
) error {
	status, err := task.Status(ctx)
	if errdefs.IsNotFound(err) && c.undeleted[i] {
		return c.sendDelete(ctx, cl, i)
	}
	if err != nil && !errdefs.IsNotFound(err) {
		return err
	}
	if status.Status != containerd.Stopped {
		if err := c.forceEnd(ctx, i, task); err != nil {
			return err
		}
	}
	err = c.deleteTask(ctx, i, task, containerd.WithProcessKill)
	if errdefs.IsNotFound(err) {
		if c.undeleted[i] { // the shim lost the task after the client loaded it
			return c.sendDelete(ctx, cl, i)
		}
		return nil
	}
	c.failedDelete(i, err != nil)
	return err
}

// forceEnd kills a task and waits until it has exited.
func (c *Client) forceEnd(ctx context.Context, i *harness.Instance, task containerd.Task) error {
	exits, err := task.Wait(ctx)
	if err != nil {
		return err
	}
	err = task.Kill(ctx, unix.SIGKILL)
	if err == nil {
		c.Record.Sent(i.ID, int(unix.SIGKILL))
	} else if !errdefs.IsNotFound(err) {
		return err
	}
	select {
	case status := <-exits:
		if status.Error() == nil {
			c.waited(i, status.ExitCode(), status.ExitTime())
			c.AwaitExit(ctx, i.ID)
		}
		return nil
	case <-ctx.Done():
		return &callerr.Error{Call: "wait", Err: ctx.Err()}
	}
}

// sendDelete sends a failed Delete again. The Go library's own Delete first requests the
// task's status. If the shim no longer knows the task, the library returns NotFound, and
// never sends the Delete request that would clean up (seen on v2.4.2).
func (c *Client) sendDelete(ctx context.Context, cl *containerd.Client, i *harness.Instance) error {
	r, err := cl.TaskService().Delete(ctx, &tasks.DeleteTaskRequest{ContainerID: i.ID})
	if err = errgrpc.ToNative(err); err != nil {
		if errdefs.IsNotFound(err) {
			return nil
		}
		return err
	}
	c.undeleted[i], i.Deleted = false, time.Now()
	c.reported(i, exit.ByDelete, r.ExitStatus, r.ExitedAt.AsTime(), r.Pid)
	return nil
}

// snapshotter is the snapshotter of the containers.
const snapshotter = "overlayfs"

// removeSnapshot removes the snapshot that remains if containerd fails between the
// snapshot and the container. The client owns both, so it must also remove both.
func removeSnapshot(ctx context.Context, cl *containerd.Client, i *harness.Instance) error {
	err := cl.SnapshotService(snapshotter).Remove(ctx, i.ID)
	if errdefs.IsNotFound(err) {
		return nil
	}
	return err
}
