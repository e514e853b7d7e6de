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

// kept makes containerd's garbage collection keep something.
var kept = map[string]string{"containerd.io/gc.root": planted}

// writeFile makes an empty file in the world.
func writeFile(file func(runner.Scene) string) plant {
	return func(_ context.Context, s runner.Scene) error {
		return os.WriteFile(s.World.Inside(file(s)), nil, 0o600)
	}
}

// holdSnapshotDir makes the directory of a snapshot that is no more. A mount in it
// keeps it from overlayfs, which would else remove it with the next; so it is mounted
// before it is put where overlayfs looks.
func holdSnapshotDir(ctx context.Context, s runner.Scene) error {
	aside := filepath.Join(s.World.RootDir(), planted)
	held := filepath.Join(aside, "fs")
	if err := os.MkdirAll(s.World.Inside(held), 0o700); err != nil {
		return err
	}
	if err := s.World.Mount(ctx, wire.Mount{Source: planted, Target: held, Type: "tmpfs"}); err != nil {
		return err
	}
	snapshot := filepath.Join(s.World.RootDir(), "io.containerd.snapshotter.v1.overlayfs/snapshots/99")
	return os.Rename(s.World.Inside(aside), s.World.Inside(snapshot))
}

// createImage makes another name for an image.
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

// beginIngest begins to write content, and does not end it.
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

// activateMount has containerd's mount manager mount something for as long as there is an
// image, and forgets it.
func activateMount(ctx context.Context, s runner.Scene) error {
	_, err := s.Client.MountManager().Activate(inNamespace(ctx), planted,
		[]mount.Mount{{Type: "tmpfs", Source: planted}}, mount.WithTemporary,
		mount.WithLabels(map[string]string{"containerd.io/gc.bref.image": payload.Image}))
	return err
}

// commitSnapshot makes a layer that no image has.
func commitSnapshot(ctx context.Context, s runner.Scene) error {
	ctx = inNamespace(ctx)
	service := s.Client.SnapshotService("overlayfs")
	if _, err := service.Prepare(ctx, filepath.Join(planted, "active"), "", snapshots.WithLabels(kept)); err != nil {
		return err
	}
	return service.Commit(ctx, planted, filepath.Join(planted, "active"), snapshots.WithLabels(kept))
}
