package judge

import (
	"fmt"
	"slices"

	"github.com/shimquake/shimquake/failpoints"
	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/oracle/fact"
	"github.com/shimquake/shimquake/oracle/finding"
)

// shimEnds: a shim that was not killed exits with 0. containerd makes up the reports
// that a dead shim did not send, and may guess right. Faults in shims are not judged,
// because a shim that starts another shim also ends it.
func shimEnds(h *harness.History) (found []finding.Finding, _ []harness.Problem) {
	for _, e := range h.Exits {
		n := slices.IndexFunc(h.Hits, func(hit failpoints.Hit) bool { return hit.Who == "shim" && hit.PID == e.PID })
		excused := e.Code == unpublished && !h.Case.Faultless() ||
			tolerated(h, shimExitsWell, harness.Instance{PID: uint32(e.PID)}, span{}) ||
			slices.ContainsFunc(h.Unheeded, func(u harness.Unheeded) bool { return u.PID == e.PID })
		if e.Code == 0 || n < 0 || excused {
			continue
		}
		found = append(found, finding.Finding{Invariant: finding.Liveness, Class: finding.ClassShim,
			Subject: finding.Subject{ID: h.Hits[n].ID, PID: e.PID},
			Facts:   fact.Facts{fact.What: fact.ShimEnded, fact.Exit: fmt.Sprint(e.Code)}})
	}
	return found, nil
}

// unpublished is with what a shim before v2.0 ends that could not tell its containerd of
// all within 5 s of the end of its service ("publisher not closed").
const unpublished = 1
