package judge

import (
	"fmt"

	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/oracle"
)

// deaths: containerd does not end by itself, and where it is asked to stop it exits with
// 0. It is started again whenever it ends and its client comes back, so that without this
// a containerd that panics over a fault would look like one that took it well.
func deaths(h *harness.History) (found []oracle.Finding, _ []harness.Problem) {
	byFault := map[int]bool{} // told to end itself
	for _, hit := range h.Hits {
		if hit.Who == "containerd" && killedByTerm(hit.Did) {
			byFault[hit.PID] = true
		}
	}
	for _, d := range h.Deaths {
		want := uint32(0)
		if d.Killed {
			want = killed
		}
		if byFault[d.PID] || d.Asked && d.Code == want {
			continue
		}
		fs := oracle.Facts{oracle.FactWhat: oracle.Death, oracle.FactExit: fmt.Sprint(d.Code)}
		if d.Asked {
			fs[oracle.FactAsked] = oracle.Yes
		}
		found = append(found, oracle.Finding{Invariant: oracle.Liveness, Class: oracle.ClassDaemon, Facts: fs})
	}
	return found, nil
}

func died(f oracle.Finding) bool { return f.Facts[oracle.FactWhat] == oracle.Death }
