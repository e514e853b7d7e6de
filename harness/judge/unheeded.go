package judge

import (
	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/oracle"
)

// unheeded: a shim that is asked to end does. The shutdown of a node waits 90 s for one
// that does not.
func unheeded(h *harness.History) (found []oracle.Finding, _ []harness.Problem) {
	for _, u := range h.Unheeded {
		found = append(found, oracle.Finding{
			Invariant: oracle.Liveness, Class: oracle.ClassShim,
			Subject: oracle.Subject{PID: u.PID, ID: u.ID, Namespace: u.Namespace},
			Facts:   oracle.Facts{oracle.FactWhat: oracle.Shutdown, oracle.FactBound: u.For.String()},
		})
	}
	return found, nil
}
