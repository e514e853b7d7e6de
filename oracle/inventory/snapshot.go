package inventory

import (
	"context"
	"path"
	"strings"

	"github.com/containerd/containerd/v2/core/mount"
	"github.com/containerd/containerd/v2/core/snapshots"
	"github.com/containerd/errdefs"
)

func (d *Daemon) askSnapshots(ctx context.Context, ns, name string, s Scene) error {
	service := s.Client.SnapshotService(name)
	from := len(d.Snapshots)
	err := service.Walk(ctx, func(_ context.Context, info snapshots.Info) error {
		d.Snapshots = append(d.Snapshots, Snapshot{ns, name, info.Name, info.Kind == snapshots.KindCommitted})
		return nil
	})
	if err != nil {
		return err
	}
	for _, shot := range d.Snapshots[from:] {
		if shot.Committed {
			continue
		}
		mounts, err := service.Mounts(ctx, shot.Key)
		if errdefs.IsNotFound(err) {
			continue // another process has removed it
		}
		if err != nil {
			return err
		}
		if dir := writtenDir(mounts); dir != "" {
			d.SnapshotDirs = append(d.SnapshotDirs, SnapshotDir{shot, dir})
		}
	}
	return nil
}

// writtenDir returns the directory of a snapshot (with fs and work, for overlayfs), from
// its mounts. It returns "" for a read-only snapshot, whose mounts show only its parents.
func writtenDir(mounts []mount.Mount) string {
	for _, m := range mounts {
		for _, option := range m.Options {
			if dir, ok := strings.CutPrefix(option, "upperdir="); ok {
				return path.Dir(dir)
			}
			if option == "rw" && m.Type == "bind" {
				return path.Dir(m.Source)
			}
		}
	}
	return ""
}
