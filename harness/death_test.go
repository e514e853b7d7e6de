package harness

import (
	"context"
	"errors"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/shimquake/shimquake/failpoints"
	"github.com/shimquake/shimquake/failpoints/probe/term"
	"github.com/shimquake/shimquake/failpoints/signal"
	"github.com/shimquake/shimquake/fixtures/containerd/daemon"
	"github.com/shimquake/shimquake/oracle"
)

func TestOwnDeaths(t *testing.T) {
	hit := func(who string, did term.Action) []failpoints.Hit {
		return []failpoints.Hit{{Who: who, PID: 2, Did: did}}
	}
	for _, tc := range []struct {
		name  string
		death daemon.Death
		hits  []failpoints.Hit
		found int
	}{
		{"killed by the harness", daemon.Death{PID: 2, Code: 137, Asked: true}, nil, 0},
		{"told to crash", daemon.Death{PID: 2, Code: 137}, hit("containerd", term.Crash), 0},
		{"told to panic", daemon.Death{PID: 2, Code: 2}, hit("containerd", term.Panic), 0},
		{"told to fail, and panicked", daemon.Death{PID: 2, Code: 2}, hit("containerd", term.Error), 1},
		{"another one was told to crash", daemon.Death{PID: 9, Code: 2}, hit("containerd", term.Crash), 1},
		{"a shim was told to crash", daemon.Death{PID: 2, Code: 2}, hit("shim", term.Crash), 1},
	} {
		if got := ownDeaths([]daemon.Death{tc.death}, tc.hits); len(got) != tc.found {
			t.Errorf("%s: %v", tc.name, got)
		}
	}
}

// A containerd that ends without being told to must not be taken for one that took the fault well, although it is back at once; nor one that hangs for
// a machine that could not run the case.
func TestContainerdThatDiesOrHangsByItselfViolates(t *testing.T) {
	for _, sig := range []unix.Signal{unix.SIGKILL, unix.SIGSTOP} {
		harm := func(ctx context.Context, s Scene) error {
			all, err := oracle.Processes(s.Scene)
			if err != nil {
				return err
			}
			for _, p := range all {
				if p.Own && p.PID != 1 {
					return s.World.Signal(ctx, signal.Identity{PID: p.PID, Start: p.Start}, sig)
				}
			}
			return errors.New("no containerd in the world")
		}
		v := (&Runner{Evidence: t.TempDir(), Sabotage: harm}).Run(t.Context(), Case{Name: "by-itself"})
		if v.Unable {
			t.Skip(v.Why)
		}
		if v.Outcome != Violated || !v.Has(oracle.ClassDaemon) {
			t.Errorf("%s: %v", sig, v)
		}
	}
}
