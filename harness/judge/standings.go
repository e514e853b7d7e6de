package judge

import (
	"fmt"
	"slices"

	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/oracle"
)

// standings: no shim is in the process group of a containerd, so that a signal to all of
// that (by a terminal, or by who ends a service) spares what shims serve. Without a fault
// each may be killed for want of memory by one point rather than the containerd that has
// started it, and a container's init as its client has asked.
func standings(h *harness.History) (found []oracle.Finding, _ []harness.Problem) {
	groups := map[int]bool{}
	for _, s := range h.Standings {
		groups[s.Containerd.Group] = true
		for _, shim := range s.Shims {
			at := oracle.Subject{ID: shim.Shim, PID: shim.PID}
			if groups[shim.Group] {
				found = append(found, oracle.Finding{Invariant: oracle.Liveness, Class: oracle.ClassShim, Subject: at,
					Facts: oracle.Facts{oracle.FactWhat: oracle.ShimGroup, oracle.FactReported: fmt.Sprint(shim.Group)}})
			}
			if want := min(s.Containerd.OOMScoreAdj+1, mostOOMScoreAdj); h.Case.Faultless() && h.Case.Workload.Fakeshim == "" {
				found = append(found, scored(oracle.ClassShim, at, oracle.ShimOOMScore, shim, want)...)
			}
		}
		if h.Case.Faultless() {
			found = append(found, initsScored(h, s)...)
		}
	}
	return uniqueCauses(found), nil
}

// mostOOMScoreAdj is OOM_SCORE_ADJ_MAX of Linux's include/uapi/linux/oom.h.
const mostOOMScoreAdj = 1000

// initsScored are containers whose init does not stand as was asked. Of one that was to
// be spared rather than containerd itself nothing is said: not every machine can do that,
// and CRI asks there for no less than its own.
func initsScored(h *harness.History, s oracle.Standings) (found []oracle.Finding) {
	for _, i := range h.Instances {
		n := slices.IndexFunc(s.Behind, func(p oracle.Standing) bool { return i.PID != 0 && p.PID == int(i.PID) })
		if n >= 0 && i.OOMScoreAdj != nil && *i.OOMScoreAdj >= s.Containerd.OOMScoreAdj {
			at := oracle.Subject{ID: i.ID, PID: int(i.PID)}
			found = append(found, scored(oracle.ClassContainer, at, oracle.InitOOMScore, s.Behind[n], *i.OOMScoreAdj)...)
		}
	}
	return found
}

// scored is a finding about a process that has another oom_score_adj than it should.
func scored(c oracle.Class, at oracle.Subject, what string, is oracle.Standing, want int) []oracle.Finding {
	if is.OOMScoreAdj == want {
		return nil
	}
	return []oracle.Finding{{Invariant: oracle.Liveness, Class: c, Subject: at, Facts: oracle.Facts{
		oracle.FactWhat: what, oracle.FactReported: fmt.Sprint(is.OOMScoreAdj), oracle.FactTrue: fmt.Sprint(want)}}}
}
