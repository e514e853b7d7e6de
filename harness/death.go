package harness

import (
	"fmt"

	"github.com/shimquake/shimquake/failpoints"
	"github.com/shimquake/shimquake/failpoints/probe/term"
	"github.com/shimquake/shimquake/fixtures/containerd/daemon"
	"github.com/shimquake/shimquake/oracle"
)

// ownDeaths finds the ends of containerd that nobody asked for. It is started again whenever it ends and its client comes back, so that without this
// a containerd that panics over a fault would look like one that took it well.
func ownDeaths(deaths []daemon.Death, hits []failpoints.Hit) []oracle.Finding {
	told := map[int]bool{} // by a fault, to end itself
	for _, h := range hits {
		if h.Who == "containerd" && (h.Did == term.Crash || h.Did == term.Panic) {
			told[h.PID] = true
		}
	}
	var out []oracle.Finding
	for _, d := range deaths {
		if d.Asked || told[d.PID] {
			continue
		}
		out = append(out, oracle.Finding{Invariant: oracle.Liveness, Class: oracle.ClassDaemon, Subject: oracle.Subject{PID: d.PID},
			Facts: oracle.Facts{oracle.FactWhat: oracle.Death, oracle.FactExit: fmt.Sprint(d.Code)}})
	}
	return out
}
