package task

import (
	"context"
	"fmt"
	"time"

	containerd "github.com/containerd/containerd/v2/client"
	"github.com/containerd/containerd/v2/pkg/oci"
	"github.com/opencontainers/runtime-spec/specs-go"

	"github.com/shimquake/shimquake/fixtures/payload"
	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/harness/client"
	"github.com/shimquake/shimquake/oracle/exit"
	"github.com/shimquake/shimquake/shims/runcshim"
)

// call makes a call of the removal about a container.
func (c *Client) call(
	ctx context.Context,
	verb string,
	i *harness.Instance,
	f func(context.Context, *containerd.Client) error,
) error {
	return c.Call(ctx, verb, i.ID, func(ctx context.Context) error {
		cl, _, err := c.Connect(ctx)
		if err != nil {
			return err
		}
		return f(ctx, cl)
	})
}

// container creates a container and its snapshot, but no task.
func (c *Client) container(ctx context.Context, cl *containerd.Client, i *harness.Instance) (
	containerd.Container, error) {
	image, err := cl.GetImage(ctx, payload.Image)
	if err != nil {
		return nil, err
	}
	return cl.NewContainer(ctx, i.ID, containerd.WithImage(image),
		containerd.WithNewSnapshot(i.ID, image),
		containerd.WithNewSpec(c.spec(i)...), containerd.WithRuntime(c.runtime, nil))
}

// spec returns the OCI specification of a container, with the folder of the payload's
// record as a mount.
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

// waited records the exit status that Wait reported.
func (c *Client) waited(i *harness.Instance, status uint32, at time.Time) {
	observer := exit.ByWait
	if c.ContainerdExited() {
		observer = exit.ByRestarted
	}
	c.mu.Lock()
	i.Waited = time.Now()
	c.mu.Unlock()
	c.reported(i, observer, status, at, i.PID) // Wait reports no pid
}

func (c *Client) reported(i *harness.Instance, by exit.Observer, status uint32, at time.Time, pid uint32) {
	c.mu.Lock()
	i.Reported, i.Status = true, status
	c.mu.Unlock()
	c.Record.Reported(exit.Observation{Container: i.ID, Observer: by, Status: status, At: at, PID: int(pid)})
}

// wrap adds the container's id to a non-nil error.
func wrap(i *harness.Instance, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", i.ID, err)
}
