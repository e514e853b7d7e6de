package runner

import (
	"context"
	"errors"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/shimquake/shimquake/failpoints/signal"
	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/oracle"
)

// A containerd that ends without being asked to must not be taken for one that took the
// fault well, although it is back at once; nor one that hangs for a machine that could
// not run the case.
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
		v := (&Runner{Evidence: t.TempDir(), Sabotage: harm}).Run(t.Context(), harness.Case{Name: "by-itself"})
		if v.Unable() {
			t.Skip(v.Why())
		}
		if v.Outcome != harness.Violated || !v.Has(oracle.ClassDaemon) {
			t.Errorf("%s: %v", sig, v)
		}
	}
}
