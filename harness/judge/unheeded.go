package judge

import (
	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/oracle/fact"
	"github.com/shimquake/shimquake/oracle/finding"
)

// unheeded: a shim ends after SIGTERM. The shutdown of a node waits 90 s for a shim that
// ignores it.
func unheeded(h *harness.History) (found []finding.Finding, _ []harness.Problem) {
	for _, u := range h.Unheeded {
		found = append(found, finding.Finding{
			Invariant: finding.Liveness, Class: finding.ClassShim,
			Subject: finding.Subject{PID: u.PID, ID: u.ID, Namespace: u.Namespace},
			Facts:   fact.Facts{fact.What: fact.Shutdown, fact.Bound: u.For.String()},
		})
	}
	return found, nil
}
