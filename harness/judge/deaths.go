package judge

import (
	"fmt"

	"github.com/shimquake/shimquake/failpoints/probe/term"
	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/oracle"
)

// deaths: containerd does not end by itself. It is started again whenever it ends and its
// client comes back, so that without this a containerd that panics over a fault would
// look like one that took it well.
func deaths(h *harness.History) (found []oracle.Finding, _ []harness.Problem) {
	byFault := map[int]bool{} // told to end itself
	for _, hit := range h.Hits {
		if hit.Who == "containerd" && (hit.Did == term.Crash || hit.Did == term.Panic) {
			byFault[hit.PID] = true
		}
	}
	for _, d := range h.Deaths {
		if !d.Asked && !byFault[d.PID] {
			found = append(
				found,
				oracle.Finding{Invariant: oracle.Liveness, Class: oracle.ClassDaemon, Subject: oracle.Subject{PID: d.PID},
					Facts: oracle.Facts{oracle.FactWhat: oracle.Death, oracle.FactExit: fmt.Sprint(d.Code)}},
			)
		}
	}
	return found, nil
}

func died(f oracle.Finding) bool { return f.Facts[oracle.FactWhat] == oracle.Death }
