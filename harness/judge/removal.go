package judge

import (
	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/oracle/fact"
	"github.com/shimquake/shimquake/oracle/finding"
)

// removal: the client removes everything within its deadline.
func removal(h *harness.History) ([]finding.Finding, []harness.Problem) {
	if h.Removal == nil {
		return nil, nil
	}
	fs := h.Removal.Facts(fact.Removal)
	if fs[fact.Object] = fact.AContainer; h.Case.Workload.API == harness.CRI {
		fs[fact.Object] = fact.APod
	}
	return []finding.Finding{{Invariant: finding.Liveness, Class: finding.ClassContainer, Facts: fs}}, nil
}
