package runner

import (
	"context"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/shimquake/shimquake/catalogue"
	"github.com/shimquake/shimquake/fixtures/world"
	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/must"
	"github.com/shimquake/shimquake/poll"
)

// A process of the world leaks, and gets almost no processor. The run is invalid, and the
// case runs again.
func TestAStalledCaseRunsAgain(t *testing.T) {
	runs := 0
	r := &Runner{Residues: catalogue.Residues(), Evidence: t.TempDir()}
	r.Sabotage = func(ctx context.Context, s Scene) error {
		if runs++; runs > 1 {
			return nil
		}
		p, err := s.World.Start(ctx, world.Params{
			Argv: []string{"/bin/sh", "-c", "while :; do :; done"}, Output: "/dev/null"})
		if err != nil {
			return err
		}
		pid, err := s.World.HostPID(p.Identity)
		if err != nil {
			return err
		}
		if err := throttle(s.World, pid); err != nil {
			return err
		}
		return poll.Until(ctx, time.Second/10, func() (bool, error) { return s.World.StoodStill() > 4*time.Second, nil })
	}
	v := ranBy(t.Context(), t, r, harness.Case{Name: "stalled"})
	if v.Outcome != harness.Held || runs != 2 || v.History.Again == "" {
		t.Errorf("%d runs, the first %q: %v", runs, v.History.Again, v)
	}
	must.Len(t, must.Get(os.ReadDir(r.Evidence))(t), 0, "the evidence of the first run is left")
}

// throttle moves a process to a group with a hundredth of a processor.
func throttle(w *world.World, pid int) error {
	for _, dir := range w.CgroupDirs() {
		for file, quota := range map[string]string{"cpu.cfs_quota_us": "1000", "cpu.max": "1000 100000"} {
			group := filepath.Join(dir, "throttled")
			if _, err := os.Stat(filepath.Join(dir, file)); err != nil {
				continue
			}
			if err := os.Mkdir(group, 0o755); err != nil {
				return err
			}
			if err := os.WriteFile(filepath.Join(group, file), []byte(quota), 0); err != nil {
				return err
			}
			return os.WriteFile(filepath.Join(group, "cgroup.procs"), []byte(strconv.Itoa(pid)), 0)
		}
	}
	return world.ErrLacksController
}
