package judge

import (
	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/oracle"
)

// removal: the client gets rid of everything within its deadline.
func removal(h *harness.History) ([]oracle.Finding, []harness.Problem) {
	if h.Removal == nil {
		return nil, nil
	}
	fs := h.Removal.Facts(oracle.Removal)
	if fs[oracle.FactObject] = oracle.AContainer; h.Case.Workload.API == harness.CRI {
		fs[oracle.FactObject] = oracle.APod
	}
	return []oracle.Finding{{Invariant: oracle.Liveness, Class: oracle.ClassContainer, Facts: fs}}, nil
}
