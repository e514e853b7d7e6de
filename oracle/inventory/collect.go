package inventory

import (
	"context"
	"fmt"
	"time"

	"github.com/containerd/containerd/v2/core/leases"
	"github.com/containerd/containerd/v2/pkg/namespaces"
	"github.com/containerd/errdefs"
)

// Collect makes containerd collect its garbage. Only a collection removes the files of
// removed snapshots. It does so only if a snapshot was removed since containerd started.
// Usually containerd starts one soon after a removal, but not if it was killed in
// between. Nor does it start one if another collection was just ending
// (lastCollection.After in plugins/gc/scheduler.go of v2.4.2). Then the next removal
// starts one. So Collect creates and removes a snapshot, and calls own with its
// directory.
func Collect(ctx context.Context, s Scene, own func(dir string)) error {
	s = s.withDefaults()
	in := s.CollectIn
	if in == "" {
		all, err := s.Client.NamespaceService().List(ctx)
		if err != nil || len(all) == 0 {
			return err
		}
		in = all[0]
	}
	ctx = namespaces.WithNamespace(ctx, in)
	key := fmt.Sprintf("shimquake-%d", time.Now().UnixNano())
	for _, name := range s.Snapshotters {
		service := s.Client.SnapshotService(name)
		mounts, err := service.Prepare(ctx, key, "")
		if err == nil {
			own(writtenDir(mounts))
			err = service.Remove(ctx, key)
		}
		if err != nil && !errdefs.IsNotFound(err) { // already collected, because it has no lease
			return fmt.Errorf("create and remove a snapshot in %s, so that its garbage is collected: %w", name, err)
		}
	}
	lease, err := s.Client.LeasesService().Create(ctx)
	if err == nil {
		err = s.Client.LeasesService().Delete(ctx, lease, leases.SynchronousDelete)
	}
	if err != nil {
		return fmt.Errorf("make containerd collect its garbage: %w", err)
	}
	return nil
}
