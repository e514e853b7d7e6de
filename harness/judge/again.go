package judge

import (
	"slices"

	"github.com/shimquake/shimquake/failpoints"
	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/oracle/fact"
	"github.com/shimquake/shimquake/oracle/finding"
)

// again: what was created, or started, is not once more. What else comes of it (an end
// that is told of twice, a shim that dies of it) the other rules see.
func again(h *harness.History) (found []finding.Finding, _ []harness.Problem) {
	for _, a := range h.Again {
		if a.Err == nil {
			found = append(found, finding.Finding{Invariant: finding.Liveness, Class: finding.ClassContainer,
				Subject: finding.Subject{ID: a.Of, Exec: a.Exec},
				Facts:   ofExec(a.Exec, fact.Facts{fact.What: fact.DoneTwice, fact.Call: a.Verb})})
		}
	}
	return found, nil
}

// isAgain reports whether a shim was asked there for what it has done.
func isAgain(h *harness.History, hit failpoints.Hit) bool {
	return slices.ContainsFunc(h.Again, func(a harness.Again) bool {
		return a.Of == hit.ID && !hit.Time.Before(a.At)
	})
}
