package judge

import (
	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/oracle/fact"
	"github.com/shimquake/shimquake/oracle/finding"
)

// criRepeated: a stop or a removal of a missing object succeeds.
func criRepeated(h *harness.History) (found []finding.Finding, _ []harness.Problem) {
	if h.CRI == nil || !h.Case.Faultless() {
		return nil, nil
	}
	for _, r := range h.CRI.Repeated {
		if r.Err != nil && r.Err.Answered {
			found = append(found, finding.Finding{Invariant: finding.Liveness, Class: finding.ClassDaemon,
				Subject: finding.Subject{ID: r.ID}, Facts: r.Err.Facts(fact.GoneFails)})
		}
	}
	return found, nil
}
