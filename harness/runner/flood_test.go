package runner

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/shimquake/shimquake/catalogue"
	"github.com/shimquake/shimquake/fixtures/containerd/daemon"
	"github.com/shimquake/shimquake/fixtures/world"
	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/must"
)

// A containerd that logs without end uses no more of the host's disk than the limit of a
// log. Its case is not held, because the lost lines are not known.
func TestALogWithoutEnd(t *testing.T) {
	var onDisk int64
	r := &Runner{Residues: catalogue.Residues(), Evidence: t.TempDir(), KeepAll: true,
		Sabotage: func(ctx context.Context, s Scene) error {
			log := filepath.Join(s.World.LogDir(), daemon.LogName)
			p, err := s.World.Start(ctx, world.Params{Output: "/dev/null", Argv: []string{"/bin/sh", "-c",
				fmt.Sprintf("yes 'goroutine 1 [running]:' | head -c %d >>%s", 3*world.LogSize, log)}})
			if err == nil {
				_, err = p.Exited(ctx)
			}
			onDisk = sizeOf(t, s.World.Dir())
			return err
		}}
	v := ranBy(t.Context(), t, r, harness.Case{Name: "flood"})
	if v.Outcome != harness.Invalid || !v.HasProblem(harness.ByLook) {
		t.Errorf("%v: want invalid, because the end of the log is lost", v)
	}
	if onDisk > 1<<20 || sizeOf(t, v.Evidence) > 2*maxKept {
		t.Errorf("the world's folder has %d bytes on the host's disk, its evidence %d", onDisk, sizeOf(t, v.Evidence))
	}
}

// sizeOf returns the size of all files below a folder.
func sizeOf(t *testing.T, dir string) (size int64) {
	t.Helper()
	must.Succeed(t, filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		info, err := os.Lstat(path)
		if err == nil {
			size += info.Size()
		}
		return nil
	}))
	return size
}
