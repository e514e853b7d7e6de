package task

import (
	"context"
	"crypto/rand"
	"fmt"

	containerd "github.com/containerd/containerd/v2/client"
	"github.com/containerd/containerd/v2/core/containers"
	"github.com/opencontainers/image-spec/identity"

	"github.com/shimquake/shimquake/harness"
)

// snapshot makes that of a container, of the layers of its image and of those that it is
// to have beside these. Before the container keeps them, the lease does under which the
// library makes a container.
func (c *Client) snapshot(i *harness.Instance, image containerd.Image) containerd.NewContainerOpts {
	if i.Spec.Layers == 0 {
		return containerd.WithNewSnapshot(i.ID, image)
	}
	return func(ctx context.Context, cl *containerd.Client, of *containers.Container) error {
		diffs, err := image.RootFS(ctx)
		if err != nil {
			return err
		}
		sn := cl.SnapshotService(snapshotter)
		parent, try := identity.ChainID(diffs).String(), rand.Text()
		for n := range i.Spec.Layers {
			name := fmt.Sprintf("%s-%s-%d", i.ID, try, n)
			if _, err := sn.Prepare(ctx, name+"-active", parent); err != nil {
				return err
			}
			if err := sn.Commit(ctx, name, name+"-active"); err != nil {
				return err
			}
			parent = name
		}
		if _, err := sn.Prepare(ctx, i.ID, parent); err != nil {
			return err
		}
		of.Snapshotter, of.SnapshotKey, of.Image = snapshotter, i.ID, image.Name()
		return nil
	}
}
