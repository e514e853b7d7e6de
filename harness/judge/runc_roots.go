package judge

import (
	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/oracle"
)

// runcRoots: without a fault runc keeps the state of a container in the root that its
// options name, until it is deleted.
func runcRoots(h *harness.History) (found []oracle.Finding, _ []harness.Problem) {
	if !looked(h) || !h.Case.Faultless() {
		return nil, nil
	}
	for _, i := range h.Instances {
		find := func(what string) {
			found = append(found, oracle.Finding{Invariant: oracle.Liveness, Class: oracle.ClassContainer,
				Subject: oracle.Subject{ID: i.ID, PID: int(i.PID)}, Facts: oracle.Facts{oracle.FactWhat: what}})
		}
		switch {
		case i.Runc == nil:
		case !i.Runc.Kept:
			find(oracle.RuncElsewhere)
		case i.Runc.Left && !i.Deleted.IsZero():
			find(oracle.RuncLeft)
		}
	}
	return found, nil
}
