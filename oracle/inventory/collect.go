package inventory

import (
	"context"
	"fmt"
	"time"

	"github.com/containerd/containerd/v2/core/leases"
	"github.com/containerd/containerd/v2/pkg/namespaces"
	"github.com/containerd/errdefs"
)

// Collect makes containerd collect its garbage. Removed metadata leaves the disk only
// then, and only if a snapshot was removed since containerd has started. Usually
// containerd does so itself soon after the removal. It does not if it was killed in
// between, or if the removal fell into the end of another collection
// (lastCollection.After in plugins/gc/scheduler.go of v2.4.2). The next removal then
// collects the rest. Here that is a snapshot of the oracle; own is called with its
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
		if err != nil && !errdefs.IsNotFound(err) { // collected already: it has no lease
			return fmt.Errorf("have %s collect garbage: %w", name, err)
		}
	}
	lease, err := s.Client.LeasesService().Create(ctx)
	if err == nil {
		err = s.Client.LeasesService().Delete(ctx, lease, leases.SynchronousDelete)
	}
	if err != nil {
		return fmt.Errorf("have garbage collected: %w", err)
	}
	return nil
}
