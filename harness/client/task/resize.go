package task

import (
	"context"
	"time"

	"github.com/containerd/containerd/api/services/tasks/v1"
	containerd "github.com/containerd/containerd/v2/client"
	"github.com/containerd/errdefs/pkg/errgrpc"

	"github.com/shimquake/shimquake/harness"
)

// windowRows and windowCols are a size that no terminal has by itself.
const windowRows, windowCols = 33, 101

// resize gives the window of a container's terminal, or of an exec's, another size; nil:
// it has none. It does not try again: who has a window does so when that changes again.
func (c *Client) resize(ctx context.Context, i *harness.Instance, exec string) *harness.Resize {
	if !i.Spec.TTY {
		return nil
	}
	r := &harness.Resize{Rows: windowRows, Cols: windowCols}
	err := c.call(ctx, "resize", i, func(ctx context.Context, cl *containerd.Client) error {
		_, err := cl.TaskService().ResizePty(ctx, &tasks.ResizePtyRequest{
			ContainerID: i.ID, ExecID: exec, Width: windowCols, Height: windowRows})
		return errgrpc.ToNative(err)
	})
	if err == nil {
		r.Done = time.Now()
	}
	return r
}
