package task

import (
	"context"
	"sync"
	"time"

	"github.com/containerd/containerd/api/services/tasks/v1"
	containerd "github.com/containerd/containerd/v2/client"
	"github.com/containerd/errdefs"
	"github.com/containerd/errdefs/pkg/errgrpc"
	"golang.org/x/sys/unix"

	"github.com/shimquake/shimquake/fixtures/containerd/daemon"
	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/harness/client"
	"github.com/shimquake/shimquake/oracle/callerr"
	"github.com/shimquake/shimquake/oracle/exit"
)

// deleteByAll has each of the workload's deleters try, concurrently.
func (c *Client) deleteByAll(ctx context.Context, i *harness.Instance) {
	c.lookAtTask(ctx, i)
	c.killLate(ctx, i, "", i.PID, i.Waited)
	done := make([]time.Time, max(c.Case.Workload.Deleters, 1))
	var others sync.WaitGroup
	for n := range done[1:] {
		others.Go(func() {
			call := harness.Call{Who: harness.AnotherClient, Verb: "delete", Of: i.ID, At: time.Now()}
			err := c.deleteBeside(ctx, i)
			if err == nil {
				done[1+n] = time.Now()
			}
			call.Took, call.Err = time.Since(call.At), callerr.Of(err)
			c.Record.Call(call)
		})
	}
	c.delete(ctx, i)
	others.Wait()
	for _, at := range done {
		if i.Deleted.IsZero() {
			i.Deleted = at
		}
	}
}

// deleteBeside is another client's try. That it fails, because the first has been
// quicker, breaks nothing; what it hears of the exit is judged.
func (c *Client) deleteBeside(ctx context.Context, i *harness.Instance) error {
	ctx, cancel := context.WithTimeout(ctx, c.Case.Workload.CallTimeout)
	defer cancel()
	cl, _, err := c.Up(ctx)
	if err != nil {
		return err
	}
	r, err := cl.TaskService().Delete(ctx, &tasks.DeleteTaskRequest{ContainerID: i.ID})
	if err != nil {
		return errgrpc.ToNative(err)
	}
	c.Record.Reported(exit.Observation{
		Container: i.ID, Observer: exit.ByDelete, Status: r.ExitStatus, At: r.ExitedAt.AsTime(), PID: int(r.Pid),
	})
	return nil
}

// delete is the client's first try, without force.
func (c *Client) delete(ctx context.Context, i *harness.Instance) {
	err := c.call(ctx, "delete", i, func(ctx context.Context, cl *containerd.Client) error {
		task, err := load(ctx, cl, i.ID)
		if err != nil {
			return err
		}
		return c.deleteTask(ctx, i, task)
	})
	c.failedDelete(i, err != nil && !c.Overtaken(err))
}

// failedDelete notes whether a Delete must be sent again. The library alone sends none
// once the shim has forgotten the task.
func (c *Client) failedDelete(i *harness.Instance, failed bool) {
	c.undeleted[i] = failed && !c.Case.Workload.LibraryDelete
}

func (c *Client) deleteTask(
	ctx context.Context,
	i *harness.Instance,
	task containerd.Task,
	opts ...containerd.ProcessDeleteOpts,
) error {
	pid := uint32(0) // the library tells the status alone
	ctx = daemon.Hear(ctx, func(reply any) {
		if r, ok := reply.(*tasks.DeleteResponse); ok {
			pid = r.Pid
		}
	})
	status, err := task.Delete(ctx, opts...)
	if err != nil {
		return err
	}
	i.Deleted = time.Now()
	c.reported(i, exit.ByDelete, status.ExitCode(), status.ExitTime(), pid)
	return nil
}

// remove is what dockerd does to get rid of a container, whatever state it is in: kill,
// wait, delete the task, delete the container; and again until containerd knows nothing
// of it.
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

// forceDelete kills what still runs and deletes the task.
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
		if c.undeleted[i] { // the shim has forgotten the task since the client looked for it
			return c.sendDelete(ctx, cl, i)
		}
		return nil
	}
	c.failedDelete(i, err != nil)
	return err
}

// forceEnd kills a task and waits for its end.
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
			c.waited(i, status)
			c.AwaitExit(ctx, i.ID)
		}
		return nil
	case <-ctx.Done():
		return &callerr.Error{Call: "wait", Err: ctx.Err()}
	}
}

// sendDelete sends a Delete that has failed once more. The client library's own Delete
// asks for the task's status first, hears from the shim that it has no such task any
// more, and gives up: the request that would clean up is never sent (seen on v2.4.2).
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

// snapshotter makes the snapshots of tasks' containers.
const snapshotter = "overlayfs"

// removeSnapshot removes what a create that failed between snapshot and container has
// left: both are the client's own.
func removeSnapshot(ctx context.Context, cl *containerd.Client, i *harness.Instance) error {
	err := cl.SnapshotService(snapshotter).Remove(ctx, i.ID)
	if errdefs.IsNotFound(err) {
		return nil
	}
	return err
}
