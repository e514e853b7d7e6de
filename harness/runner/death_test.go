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

// A containerd that dies unasked is a violation, although it is back at once. A
// containerd that hangs is a violation, too, and not a machine that cannot run the
// case.
func TestContainerdThatDiesOrHangsByItselfViolates(t *testing.T) {
	for _, sig := range []unix.Signal{unix.SIGKILL, unix.SIGSTOP} {
		v := harmed(t, func(ctx context.Context, s Scene) error { return signalContainerd(ctx, s, sig) })
		if v.Outcome != harness.Violated || !v.Has(finding.ClassDaemon) {
			t.Errorf("%s: %v", sig, v)
		}
	}
}

// If containerd dies while the harness takes an inventory, the harness asks the
// restarted containerd.
func TestContainerdThatDiesWhileAskedIsAskedAgain(t *testing.T) {
	v := harmed(t, func(ctx context.Context, s Scene) error {
		time.AfterFunc(time.Second, func() { _ = signalContainerd(ctx, s, unix.SIGKILL) })
		return signalContainerd(ctx, s, unix.SIGSTOP)
	})
	if v.History.After == nil || v.History.After.Inventory == nil {
		t.Errorf("there is no inventory: %v", v)
	}
	if v.Outcome != harness.Violated || !v.Has(finding.ClassDaemon) {
		t.Error(v)
	}
}

// harmed returns the verdict of a run without a fault, with a signal to containerd
// before the harness takes an inventory.
func harmed(t *testing.T, harm func(context.Context, Scene) error) harness.Verdict {
	t.Helper()
	r := &Runner{Residues: catalogue.Residues(), Evidence: t.TempDir(), Sabotage: harm}
	return ranBy(t.Context(), t, r, harness.Case{Name: "by-itself"})
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
