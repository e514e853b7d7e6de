package runner

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/must"
)

func TestClocks(t *testing.T) {
	last := reading{boot: 100 * time.Second, wall: 5000 * time.Second}
	for _, tc := range []struct {
		name       string
		boot, wall time.Duration // since last
		took       time.Duration
		want       string // "": the run counts
	}{
		{"the next tick", clockTick, clockTick, 0, ""},
		{"a busy machine", time.Second, time.Second, 0, ""},
		{"SIGSTOP", 12 * time.Second, 12 * time.Second, 0, ""},
		{"set forward", clockTick, clockTick + time.Hour, 0, "jumped by 1h0m0s"},
		{"set back", clockTick, clockTick - time.Minute, 0, "jumped by -1m0s"},
		{"slewed", clockTick, clockTick + 10*time.Millisecond, 0, ""},
		{"stopped between the clocks", clockTick, clockTick + 700*time.Millisecond, 710 * time.Millisecond, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			err := reading{boot: last.boot + tc.boot, wall: last.wall + tc.wall, took: tc.took}.since(last)
			if tc.want == "" && err != nil || tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)) {
				t.Errorf("got %v, want %q", err, tc.want)
			}
		})
	}
}

func TestStall(t *testing.T) {
	last := reading{boot: 100 * time.Second, wall: 5000 * time.Second, still: time.Hour}
	for name, tc := range map[string]struct {
		late, starved time.Duration // since last
		want          time.Duration
	}{
		"in time":               {0, 0, 0},
		"a little late":         {clockTick / 2, 0, 0},
		"late":                  {2 * clockTick, 0, 2 * clockTick},
		"SIGSTOP":               {12 * time.Second, 0, 12 * time.Second},
		"busy beside others":    {0, clockTick / 2, 0},
		"starved":               {0, 9 * clockTick / 10, clockTick},
		"starved and then late": {12 * time.Second, time.Second, 12 * time.Second},
		"thawed":                {0, 3 * time.Second, 3 * time.Second},
	} {
		took := clockTick + tc.late
		now := reading{boot: last.boot + took, wall: last.wall + took, still: last.still + tc.starved}
		s, got := now.stall(last, clockTick)
		if got != (tc.want > 0) || got && (s.For != tc.want || !s.From.Equal(time.Unix(5000, 0).Add(took-tc.want))) {
			t.Errorf("%s: %v, %v", name, s, got)
		}
	}
}

func TestWatchMachineIsQuiet(t *testing.T) {
	stop := watchMachine(clockTick, func(err error) { t.Error(err) }, func(harness.Stall) {},
		func() time.Duration { return 0 })
	stop()
	stop()
}

// The disk of the worlds is full for a time, and at the end it is not.
func TestADiskThatIsFullForATime(t *testing.T) {
	base, err := os.MkdirTemp("", "sq") //nolint:usetesting // t.TempDir's path is too long for a socket below it
	if err == nil {
		err = unix.Mount("tmpfs", base, "tmpfs", 0, "size=32m")
	}
	if err != nil {
		t.Skip(err)
	}
	t.Cleanup(func() { _ = errors.Join(unix.Unmount(base, unix.MNT_DETACH), os.Remove(base)) })
	t.Setenv("SHIMQUAKE_DIR", base)
	v := harmed(t, func(context.Context, Scene) error {
		fill := filepath.Join(base, "fill")
		must.Is(t, os.WriteFile(fill, make([]byte, 32<<20), 0o600), unix.ENOSPC, "filling the disk")
		<-time.After(3 * clockTick) // the disk is full for some samples
		return os.Remove(fill)
	})
	must.Equal(t, v.Outcome, harness.Invalid)
	must.Equal(t, strings.Count(v.ProblemsText(), "the folder of worlds cannot be written to"), 1)
}

// Another program kills the init of a world.
func TestAnInitThatIsKilledIsInvalid(t *testing.T) {
	v := harmed(t, func(_ context.Context, s Scene) error { return unix.Kill(s.World.InitPID(), unix.SIGKILL) })
	const says = "the world's init has ended during the case"
	must.Equal(t, v.Outcome, harness.Invalid)
	must.Contain(t, v.String(), says)
}
