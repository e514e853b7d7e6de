package task

import (
	"context"
	"os"
	"path/filepath"
	"time"

	containerd "github.com/containerd/containerd/v2/client"
	"github.com/containerd/containerd/v2/core/mount"

	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/harness/client"
)

// secondMount is the folder, among the records, that is mounted into the root filesystem
// of a container. It has keptFile before.
func secondMount(i *harness.Instance) string { return i.Name + "-second" }

const keptFile = "kept"

// rootFS is how its task gets the root filesystem of a container: by default the library
// takes the mounts of its snapshot, and here one more beside them.
func (c *Client) rootFS(
	ctx context.Context,
	cl *containerd.Client,
	i *harness.Instance,
) ([]containerd.NewTaskOpts, error) {
	if !i.Spec.SecondMount {
		return nil, nil
	}
	dir := filepath.Join(c.TruthDir, secondMount(i))
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	if err := os.Chmod(dir, 0o777); err != nil { // its payload may be of any user
		return nil, err
	}
	if err := os.WriteFile(filepath.Join(dir, keptFile), nil, 0o644); err != nil {
		return nil, err
	}
	mounts, err := cl.SnapshotService(snapshotter).Mounts(ctx, i.ID)
	if err != nil {
		return nil, err
	}
	return []containerd.NewTaskOpts{containerd.WithRootFS(append(mounts, mount.Mount{
		Type: "bind", Source: dir, Target: client.SecondTarget, Options: []string{"rbind", "rw"}}))}, nil
}

// seeSecond waits until the heart of its payload beats in the second mount: in the first
// is its program.
func (c *Client) seeSecond(ctx context.Context, i *harness.Instance) {
	if i.Spec.SecondMount {
		i.Second = &harness.SecondMount{Beat: c.awaitBeat(ctx, filepath.Join(secondMount(i), i.Name), 0),
			Patience: beatPatience}
	}
}

// seeKept looks, when all is deleted, whether what is mounted there has what it had.
func (c *Client) seeKept(i *harness.Instance) {
	if i.Second != nil && !i.Deleted.IsZero() {
		_, err := os.Stat(filepath.Join(c.TruthDir, secondMount(i), keptFile))
		i.Second.Kept, i.Second.Looked = err == nil, time.Now()
	}
}
