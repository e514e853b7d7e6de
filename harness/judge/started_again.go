package judge

import (
	"slices"

	"github.com/shimquake/shimquake/failpoints"
	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/oracle"
)

// startedAgain: what was started is not started again. What else comes of it (an end that
// is told of twice, a shim that dies of it) the other rules see.
func startedAgain(h *harness.History) (found []oracle.Finding, _ []harness.Problem) {
	for _, again := range h.StartedAgain {
		if again.Err == nil {
			found = append(found, oracle.Finding{Invariant: oracle.Liveness, Class: oracle.ClassContainer,
				Subject: oracle.Subject{ID: again.Of, Exec: again.Exec},
				Facts:   ofExec(again.Exec, oracle.Facts{oracle.FactWhat: oracle.StartedTwice})})
		}
	}
	return found, nil
}

// isStartedAgain reports whether a shim was asked there to start what it has started.
func isStartedAgain(h *harness.History, hit failpoints.Hit) bool {
	return slices.ContainsFunc(h.StartedAgain, func(again harness.StartedAgain) bool {
		return again.Of == hit.ID && !hit.Time.Before(again.At)
	})
}
