package judge

import (
	"fmt"
	"slices"

	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/oracle/fact"
	"github.com/shimquake/shimquake/oracle/finding"
	"github.com/shimquake/shimquake/oracle/inventory"
)

// standings: no shim is in the process group of a containerd, so that a signal to all of
// that (by a terminal, or by who ends a service) spares what shims serve. Without a fault
// each may be killed for want of memory by one point rather than the containerd that has
// started it, and a container's init as its client has asked.
func standings(h *harness.History) (found []finding.Finding, _ []harness.Problem) {
	groups := map[int]bool{}
	for _, s := range h.Standings {
		groups[s.Containerd.Group] = true
		for _, shim := range s.Shims {
			at := finding.Subject{ID: shim.Shim, PID: shim.PID}
			if groups[shim.Group] {
				found = append(found, finding.Finding{Invariant: finding.Liveness, Class: finding.ClassShim, Subject: at,
					Facts: fact.Facts{fact.What: fact.ShimGroup, fact.Reported: fmt.Sprint(shim.Group)}})
			}
			if want := min(s.Containerd.OOMScoreAdj+1, mostOOMScoreAdj); h.Case.Faultless() && h.Case.Workload.Fakeshim == "" {
				found = append(found, scored(finding.ClassShim, at, fact.ShimOOMScore, shim, want)...)
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
func initsScored(h *harness.History, s inventory.Standings) (found []finding.Finding) {
	for _, i := range h.Instances {
		n := slices.IndexFunc(s.Behind, func(p inventory.Standing) bool { return i.PID != 0 && p.PID == int(i.PID) })
		if n >= 0 && i.OOMScoreAdj != nil && *i.OOMScoreAdj >= s.Containerd.OOMScoreAdj {
			at := finding.Subject{ID: i.ID, PID: int(i.PID)}
			found = append(found, scored(finding.ClassContainer, at, fact.InitOOMScore, s.Behind[n], *i.OOMScoreAdj)...)
		}
	}
	return found
}

// scored is a finding about a process that has another oom_score_adj than it should.
func scored(c finding.Class, at finding.Subject, what string, is inventory.Standing, want int) []finding.Finding {
	if is.OOMScoreAdj == want {
		return nil
	}
	return []finding.Finding{{Invariant: finding.Liveness, Class: c, Subject: at, Facts: fact.Facts{
		fact.What: what, fact.Reported: fmt.Sprint(is.OOMScoreAdj), fact.True: fmt.Sprint(want)}}}
}
