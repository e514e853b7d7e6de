package control

import (
	"context"
	"os"
	"path/filepath"

	"github.com/containerd/containerd/v2/core/content"
	"github.com/containerd/containerd/v2/core/images"
	"github.com/containerd/containerd/v2/core/mount"
	"github.com/containerd/containerd/v2/core/snapshots"

	"github.com/shimquake/shimquake/fixtures/payload"
	"github.com/shimquake/shimquake/fixtures/world/wire"
	"github.com/shimquake/shimquake/harness/runner"
)

// kept makes containerd's garbage collection keep an object.
var kept = map[string]string{"containerd.io/gc.root": planted}

// writeFile makes an empty file in the world.
func writeFile(file func(runner.Scene) string) plant {
	return func(_ context.Context, s runner.Scene) error {
		return os.WriteFile(s.World.HostPath(file(s)), nil, 0o600)
	}
}

// holdSnapshotDir leaves the directory of a snapshot that no longer exists. overlayfs
// would remove it with the next one, but a mount in it prevents that. So it is mounted
// before it is moved to the place of snapshots.
func holdSnapshotDir(ctx context.Context, s runner.Scene) error {
	aside := filepath.Join(s.World.RootDir(), planted)
	held := filepath.Join(aside, "fs")
	if err := os.MkdirAll(s.World.HostPath(held), 0o700); err != nil {
		return err
	}
	if err := s.World.Mount(ctx, wire.Mount{Source: planted, Target: held, Type: "tmpfs"}); err != nil {
		return err
	}
	snapshot := filepath.Join(s.World.RootDir(), "io.containerd.snapshotter.v1.overlayfs/snapshots/99")
	return os.Rename(s.World.HostPath(aside), s.World.HostPath(snapshot))
}

// createImage adds another name of an image.
func createImage(ctx context.Context, s runner.Scene) error {
	ctx = inNamespace(ctx)
	image, err := s.Client.ImageService().Get(ctx, payload.Image)
	if err != nil {
		return err
	}
	_, err = s.Client.ImageService().Create(ctx, images.Image{Name: planted, Target: image.Target})
	return err
}

func createNamespace(ctx context.Context, s runner.Scene) error {
	return s.Client.NamespaceService().Create(ctx, planted, nil)
}

// beginIngest begins to write content, and does not finish.
func beginIngest(ctx context.Context, s runner.Scene) error {
	w, err := s.Client.ContentStore().Writer(inNamespace(ctx), content.WithRef(planted))
	if err != nil {
		return err
	}
	if _, err := w.Write([]byte(planted)); err != nil {
		return err
	}
	return w.Close()
}

// activateMount makes containerd's mount manager mount something while an image exists,
// and leaves it.
func activateMount(ctx context.Context, s runner.Scene) error {
	_, err := s.Client.MountManager().Activate(inNamespace(ctx), planted,
		[]mount.Mount{{Type: "tmpfs", Source: planted}}, mount.WithTemporary,
		mount.WithLabels(map[string]string{"containerd.io/gc.bref.image": payload.Image}))
	return err
}

// commitSnapshot makes a layer without an image.
func commitSnapshot(ctx context.Context, s runner.Scene) error {
	ctx = inNamespace(ctx)
	service := s.Client.SnapshotService("overlayfs")
	if _, err := service.Prepare(ctx, filepath.Join(planted, "active"), "", snapshots.WithLabels(kept)); err != nil {
		return err
	}
	return service.Commit(ctx, planted, filepath.Join(planted, "active"), snapshots.WithLabels(kept))
}
