package judge

import (
	"time"

	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/oracle"
)

// busyRoots: without a fault a task is not deleted while its root filesystem is in use:
// one that was unmounted lazily lives on where nobody sees it, and its snapshot is
// removed under it.
func busyRoots(h *harness.History) (found []oracle.Finding, _ []harness.Problem) {
	if !h.Case.Faultless() {
		return nil, nil
	}
	for _, i := range h.Instances {
		if early := i.BusyUntil.Sub(i.Deleted); !i.Deleted.IsZero() && early > 0 {
			found = append(found, oracle.Finding{Invariant: oracle.Liveness, Class: oracle.ClassContainer,
				Subject: oracle.Subject{ID: i.ID}, Facts: oracle.Facts{
					oracle.FactWhat: oracle.DeletedInUse, oracle.FactApart: early.Round(time.Millisecond).String()}})
		}
	}
	return found, nil
}
