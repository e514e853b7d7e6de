package judge

import (
	"fmt"
	"time"

	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/oracle"
)

// stopBound is how long containerd may take to end when it is asked to. It takes some 10
// ms; systemd gives it 90 s and then kills it.
const stopBound = 10 * time.Second

// deaths: containerd does not end by itself, and where it is asked to stop it exits with
// 0, and soon. It is started again whenever it ends and its client comes back, so that
// without this a containerd that panics over a fault would look like one that took it
// well.
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
		late := d.Asked && !d.Killed && d.After > stopBound && !stopsContainerd(h.Case)
		if byFault[d.PID] || d.Asked && d.Code == want && !late {
			continue
		}
		fs := oracle.Facts{oracle.FactWhat: oracle.Death, oracle.FactExit: fmt.Sprint(d.Code)}
		if d.Asked {
			fs[oracle.FactAsked], fs[oracle.FactApart] = oracle.Yes, d.After.Round(time.Second).String()
		}
		found = append(found, oracle.Finding{Invariant: oracle.Liveness, Class: oracle.ClassDaemon, Facts: fs})
	}
	return found, nil
}

func died(f oracle.Finding) bool { return f.Facts[oracle.FactWhat] == oracle.Death }
