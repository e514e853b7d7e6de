package runner

import (
	"context"
	"errors"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/shimquake/shimquake/catalogue"
	"github.com/shimquake/shimquake/failpoints/signal"
	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/oracle/finding"
	"github.com/shimquake/shimquake/oracle/inventory"
)

// A containerd that ends without being asked to must not be taken for one that took the
// fault well, although it is back at once; nor one that hangs for a machine that could
// not run the case.
func TestContainerdThatDiesOrHangsByItselfViolates(t *testing.T) {
	for _, sig := range []unix.Signal{unix.SIGKILL, unix.SIGSTOP} {
		v := harmed(t, func(ctx context.Context, s Scene) error { return signalContainerd(ctx, s, sig) })
		if v.Outcome != harness.Violated || !v.Has(finding.ClassDaemon) {
			t.Errorf("%s: %v", sig, v)
		}
	}
}

// One that dies while the oracle asks it has not been looked at: its next one is asked.
func TestContainerdThatDiesWhileAskedIsAskedAgain(t *testing.T) {
	v := harmed(t, func(ctx context.Context, s Scene) error {
		time.AfterFunc(time.Second, func() { _ = signalContainerd(ctx, s, unix.SIGKILL) })
		return signalContainerd(ctx, s, unix.SIGSTOP)
	})
	if v.History.After == nil || v.History.After.Inventory == nil {
		t.Errorf("nothing was looked at: %v", v)
	}
	if v.Outcome != harness.Violated || !v.Has(finding.ClassDaemon) {
		t.Error(v)
	}
}

// harmed is what is said of a run without a fault whose containerd is harmed before the
// oracle looks.
func harmed(t *testing.T, harm func(context.Context, Scene) error) harness.Verdict {
	t.Helper()
	r := &Runner{Residues: catalogue.Residues(), Evidence: t.TempDir(), Sabotage: harm}
	v := r.Run(t.Context(), harness.Case{Name: "by-itself"})
	if v.Unable() {
		t.Skip(v.Why())
	}
	return v
}

func signalContainerd(ctx context.Context, s Scene, sig unix.Signal) error {
	id, err := identifyContainerd(s)
	if err != nil {
		return err
	}
	return s.World.Signal(ctx, id, sig)
}

func identifyContainerd(s Scene) (signal.Identity, error) {
	all, err := inventory.Processes(s.Scene)
	if err != nil {
		return signal.Identity{}, err
	}
	for _, p := range all {
		if p.Own && p.PID != 1 {
			return signal.Identity{PID: p.PID, Start: p.Start}, nil
		}
	}
	return signal.Identity{}, errors.New("no containerd in the world")
}
