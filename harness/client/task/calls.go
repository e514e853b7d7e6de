package task

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/containerd/containerd/api/services/tasks/v1"
	containerd "github.com/containerd/containerd/v2/client"
	"github.com/containerd/containerd/v2/pkg/cio"
	"github.com/containerd/containerd/v2/pkg/oci"
	"github.com/containerd/errdefs"
	"github.com/opencontainers/runtime-spec/specs-go"
	"golang.org/x/sys/unix"

	"github.com/shimquake/shimquake/fixtures/containerd/daemon"
	"github.com/shimquake/shimquake/fixtures/payload"
	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/harness/client"
	"github.com/shimquake/shimquake/oracle/callerr"
	"github.com/shimquake/shimquake/oracle/exit"
	"github.com/shimquake/shimquake/shims/runcshim"
)

// call is one call of the client to a containerd that is up.
func (c *Client) call(
	ctx context.Context,
	verb string,
	i *harness.Instance,
	f func(context.Context, *containerd.Client) error,
) error {
	return c.Call(ctx, verb, i.ID, func(ctx context.Context) error {
		cl, _, err := c.Up(ctx)
		if err != nil {
			return err
		}
		return f(ctx, cl)
	})
}

func (c *Client) create(ctx context.Context, i *harness.Instance, runtime string) error {
	if err := c.Expect(i.Name); err != nil {
		return err
	}
	i.Begun = time.Now()
	if i == c.instances[0] && i.PID == 0 {
		c.Learn("task", i.ID, 0)
	}
	return c.call(ctx, "create", i, func(ctx context.Context, cl *containerd.Client) error {
		made, err := c.container(ctx, cl, i, runtime)
		if err != nil {
			return err
		}
		task, err := c.newTask(ctx, made, i)
		if err != nil {
			return err
		}
		i.PID, i.Created = task.Pid(), time.Now()
		if i == c.instances[0] {
			c.Learn("task", i.ID, int(i.PID))
		}
		return nil
	})
}

// newTask has as many clients as the workload says create the task, at once.
func (c *Client) newTask(
	ctx context.Context,
	made containerd.Container,
	i *harness.Instance,
) (containerd.Task, error) {
	n := max(c.Case.Workload.Creators, 1)
	if n == 1 || c.Quiet {
		return made.NewTask(ctx, c.io(i))
	}
	all, errs, at := make([]containerd.Task, n), make([]error, n), time.Now()
	var ended sync.WaitGroup
	for k := range n {
		ended.Go(func() { all[k], errs[k] = made.NewTask(ctx, cio.NullIO) })
	}
	ended.Wait()
	first := max(slices.IndexFunc(errs, func(err error) bool { return err == nil }), 0)
	for k, err := range errs {
		if k != first {
			again := harness.Again{Verb: "create", Of: i.ID, At: at, Err: callerr.Of(err)}
			c.Record.Set(func(h *harness.History) { h.Again = append(h.Again, again) })
		}
	}
	return all[first], errs[first]
}

// createBriefly makes the container, without a task.
func (c *Client) createBriefly(ctx context.Context, i *harness.Instance) error {
	return c.call(ctx, "create", i, func(ctx context.Context, cl *containerd.Client) error {
		_, err := c.container(ctx, cl, i, c.OtherRuntime)
		return err
	})
}

func (c *Client) container(
	ctx context.Context,
	cl *containerd.Client,
	i *harness.Instance,
	runtime string,
) (containerd.Container, error) {
	image, err := cl.GetImage(ctx, payload.Image)
	if err != nil {
		return nil, err
	}
	return cl.NewContainer(ctx, i.ID, containerd.WithImage(image),
		containerd.WithNewSnapshot(i.ID, image),
		containerd.WithNewSpec(c.spec(i)...), containerd.WithRuntime(runtime, nil))
}

// spec is the OCI specification of a container: the payload with its known end, its
// record mounted from the world.
func (c *Client) spec(i *harness.Instance) []oci.SpecOpts {
	annotations := map[string]string{}
	if c.Case.Workload.Grouped {
		annotations[runcshim.GroupAnnotation] = c.instances[0].ID
	}
	opts := append(client.Spec(i.Name, c.Truth.Name(), c.Command(i)), oci.WithAnnotations(annotations))
	if limit := client.Limit(i); limit > 0 {
		opts = append(opts, oci.WithMemoryLimit(uint64(limit)), oci.WithMemorySwap(limit))
	}
	if i.Spec.TTY {
		opts = append(opts, oci.WithTTY)
	}
	if i.Spec.SharedPID {
		opts = append(opts, oci.WithHostNamespace(specs.PIDNamespace))
	}
	return opts
}

func (c *Client) start(ctx context.Context, i *harness.Instance) error {
	return c.call(ctx, "start", i, func(ctx context.Context, cl *containerd.Client) error {
		task, err := load(ctx, cl, i.ID)
		if err != nil {
			return err
		}
		ctx = daemon.Hear(ctx, func(reply any) { // the library does not tell it
			if r, ok := reply.(*tasks.StartResponse); ok {
				c.startedAs[i] = r.Pid
			}
		})
		if err := task.Start(ctx); err != nil {
			return err
		}
		i.Started = time.Now()
		return nil
	})
}

// load finds the task of an id; a container or a task that is not there gives
// errdefs.ErrNotFound.
func load(ctx context.Context, cl *containerd.Client, id string) (containerd.Task, error) {
	made, err := cl.LoadContainer(ctx, id)
	if err != nil {
		return nil, err
	}
	return made.Task(ctx, nil)
}

// end lets the payload come to its end, or sends the signal that ends it.
func (c *Client) end(ctx context.Context, i *harness.Instance) {
	switch {
	case i.Spec.Stdin > 0:
		c.feed(ctx, i, nil)
		return
	case i.Spec.Signal == "":
		c.Release(ctx, i)
		return
	}
	c.signal(ctx, i, harness.Signals[i.Spec.Signal])
	if !i.Spec.IgnoresTerm {
		return
	}
	grace := time.NewTimer(harness.StopGrace)
	defer grace.Stop()
	select {
	case <-grace.C:
		c.signal(ctx, i, unix.SIGKILL)
	case <-ctx.Done():
	}
}

// signal sends a signal. A client that got an error tries again: the signal may
// have got lost with a containerd that died.
func (c *Client) signal(ctx context.Context, i *harness.Instance, sig unix.Signal) {
	err := client.Until(ctx, func(ctx context.Context) error { return c.kill(ctx, i, sig) })
	if err != nil {
		c.Record.Failed("client", "gave up killing "+i.ID, err)
	}
}

func (c *Client) kill(ctx context.Context, i *harness.Instance, sig unix.Signal) error {
	return c.call(ctx, "kill", i, func(ctx context.Context, cl *containerd.Client) error {
		task, err := load(ctx, cl, i.ID)
		if err == nil {
			err = task.Kill(ctx, sig)
		}
		if errdefs.IsNotFound(err) || errdefs.IsFailedPrecondition(err) { // it has ended
			return nil
		}
		if err == nil {
			c.Record.Sent(i.ID, int(sig))
		}
		return err
	})
}

// wait learns the exit status, from whichever containerd is up. It gives up when
// containerd does not know the task any more, or when the deadline passes; what that
// means is the judge's business.
func (c *Client) wait(ctx context.Context, i *harness.Instance) {
	call := harness.Call{Who: "client", Verb: "wait", Of: i.ID, At: time.Now()}
	err := client.Until(ctx, func(ctx context.Context) error {
		cl, _, err := c.Up(ctx)
		if err != nil {
			return err
		}
		task, err := load(ctx, cl, i.ID)
		if errdefs.IsNotFound(err) {
			call.Says = "containerd knows no such task"
			return nil
		}
		if err != nil {
			return err
		}
		exits, err := task.Wait(ctx)
		if err != nil {
			return err
		}
		status := <-exits
		if status.Error() != nil {
			return status.Error()
		}
		c.waited(i, status)
		c.AwaitExit(ctx, i.ID)
		c.AwaitOOM(ctx, i)
		call.Says = strconv.Itoa(int(status.ExitCode()))
		return nil
	})
	call.Took, call.Err = time.Since(call.At), callerr.Of(err)
	c.Record.Call(call)
}

// waited notes what Wait has reported.
func (c *Client) waited(i *harness.Instance, status containerd.ExitStatus) {
	observer := exit.ByWait
	if c.Died() {
		observer = exit.ByRestarted
	}
	i.Waited = time.Now()
	c.reported(i, observer, status.ExitCode(), status.ExitTime(), i.PID) // Wait tells no pid
}

func (c *Client) reported(i *harness.Instance, by exit.Observer, status uint32, at time.Time, pid uint32) {
	i.Reported, i.Status = true, status
	c.Record.Reported(exit.Observation{Container: i.ID, Observer: by, Status: status, At: at, PID: int(pid)})
}

// wrap names the container that an error is of.
func wrap(i *harness.Instance, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", i.ID, err)
}
