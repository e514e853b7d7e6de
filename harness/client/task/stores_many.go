package task

import (
	"context"
	"fmt"
	"strings"

	containerd "github.com/containerd/containerd/v2/client"
	"github.com/containerd/containerd/v2/core/leases"
	"github.com/containerd/containerd/v2/core/mount"
	"github.com/containerd/containerd/v2/core/snapshots"
	"github.com/containerd/errdefs"

	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/oracle"
	"google.golang.org/grpc/codes"
)

// manySnapshots are more than containerd reads of its store at once, which is a hundred
// (snapshotter.Walk of core/metadata).
const manySnapshots = 110

// many makes so many snapshots, and counts those that are listed.
func (s *stores) many(ctx context.Context, cl *containerd.Client) error {
	ctx = leases.WithLease(ctx, storeLease)
	sn := cl.SnapshotService(snapshotter)
	const prefix = "stores-many-"
	for n := range manySnapshots {
		if _, err := sn.Prepare(ctx, fmt.Sprint(prefix, n), ""); err != nil {
			return err
		}
	}
	listed := map[string]bool{}
	err := sn.Walk(ctx, func(_ context.Context, i snapshots.Info) error {
		if strings.HasPrefix(i.Name, prefix) {
			listed[i.Name] = true
		}
		return nil
	})
	if err == nil {
		s.tell(harness.StoredListed, prefix, len(listed), manySnapshots)
	}
	return err
}

// activate has a mount made that the lease keeps, and a collection take place. Releases
// before v2.2 have no manager of mounts.
func (s *stores) activate(ctx context.Context, cl *containerd.Client) error {
	kept := leases.WithLease(ctx, storeLease)
	const name = "stores-mount"
	mounts := []mount.Mount{
		{Type: "tmpfs", Source: "tmpfs"},
		{Type: "format/bind", Source: "{{ mount 0 }}", Options: []string{"rbind"}},
	}
	_, err := cl.MountManager().Activate(kept, name, mounts)
	if errdefs.IsNotImplemented(err) {
		return nil
	}
	if err != nil {
		return err
	}
	other, err := cl.LeasesService().Create(ctx, leases.WithRandomID())
	if err == nil {
		err = cl.LeasesService().Delete(ctx, other, leases.SynchronousDelete)
	}
	if err != nil {
		return err
	}
	s.tell(harness.StoredMounted, name, oracle.Code(cl.MountManager().Deactivate(kept, name)), codes.OK)
	return nil
}
