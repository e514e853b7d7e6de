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
		want       string        // "": the run counts
	}{
		{"the next tick", clockTick, clockTick, ""},
		{"a busy machine", time.Second, time.Second, ""},
		{"SIGSTOP", 12 * time.Second, 12 * time.Second, "frozen for 11.8s"},
		{"just too long", clockTick + stillLimit, clockTick + stillLimit, "frozen for 2s"},
		{"set forward", clockTick, clockTick + time.Hour, "jumped by 1h0m0s"},
		{"set back", clockTick, clockTick - time.Minute, "jumped by -1m0s"},
		{"slewed", clockTick, clockTick + 10*time.Millisecond, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			err := reading{last.boot + tc.boot, last.wall + tc.wall}.since(last)
			if tc.want == "" && err != nil || tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)) {
				t.Errorf("got %v, want %q", err, tc.want)
			}
		})
	}
}

func TestWatchMachineIsQuiet(t *testing.T) {
	stop := watchMachine(func(err error) { t.Error(err) }, func() error { return nil })
	stop()
	stop()
}

// A process that stays frozen is reported as one problem.
func TestWatchMachineTellsOnce(t *testing.T) {
	looks, enough := 0, make(chan struct{})
	var problems []error
	stop := watchMachine(func(err error) { problems = append(problems, err) }, func() error {
		if looks++; looks == 3 {
			close(enough)
		}
		return errors.New("init was stopped")
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
