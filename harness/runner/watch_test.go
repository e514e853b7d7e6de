package runner

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/shimquake/shimquake/harness"
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
	last := reading{boot: 100 * time.Second, wall: 5000 * time.Second, starved: time.Hour}
	for name, tc := range map[string]struct {
		late, starved time.Duration // since last
		want          bool
	}{
		"in time":               {0, 0, false},
		"a little late":         {clockTick, 0, false},
		"SIGSTOP":               {12 * time.Second, 0, true},
		"busy beside others":    {0, clockTick / 2, false},
		"starved":               {0, 9 * clockTick / 10, true},
		"starved and then late": {12 * time.Second, time.Second, true},
	} {
		took := clockTick + tc.late
		now := reading{boot: last.boot + took, wall: last.wall + took, starved: last.starved + tc.starved}
		s, got := now.stall(last)
		if got != tc.want || s.For != took || !s.From.Equal(time.Unix(5000, 0)) {
			t.Errorf("%s: %v, %v", name, s, got)
		}
	}
}

func TestWatchMachineIsQuiet(t *testing.T) {
	look := func() (time.Duration, error) { return 0, nil }
	stop := watchMachine(func(err error) { t.Error(err) }, func(harness.Stall) {}, look)
	stop()
	stop()
}

// A process that stays frozen is reported as one problem.
func TestWatchMachineTellsOnce(t *testing.T) {
	looks, enough := 0, make(chan struct{})
	var problems []error
	stalled := func(harness.Stall) {}
	stop := watchMachine(func(err error) { problems = append(problems, err) }, stalled, func() (time.Duration, error) {
		if looks++; looks == 3 {
			close(enough)
		}
		return 0, errors.New("init was stopped")
	})
	<-enough
	stop()
	if len(problems) != 1 {
		t.Errorf("%d problems, want one: %v", len(problems), problems)
	}
}

// Another program freezes a process of a world, or kills its init.
func TestWhatAnotherProgramStopsIsInvalid(t *testing.T) {
	for name, says := range map[string]string{
		"containerd": "containerd (pid ",
		"init":       "init of the world (pid ",
		"killed":     "the world's init has ended during the case",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v := harmed(t, func(_ context.Context, s Scene) error {
				switch name {
				case "init":
					return unix.Kill(s.World.InitPID(), unix.SIGSTOP)
				case "killed":
					return unix.Kill(s.World.InitPID(), unix.SIGKILL)
				}
				id, err := identifyContainerd(s)
				if err != nil {
					return err
				}
				pid, err := s.World.HostPID(id)
				if err != nil {
					return err
				}
				return unix.Kill(pid, unix.SIGSTOP)
			})
			if v.Outcome != harness.Invalid || !strings.Contains(v.String(), says) {
				t.Errorf("%v; want invalid, with %q", v, says)
			}
		})
	}
}
