package judge

import (
	"fmt"
	"slices"
	"time"

	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/oracle/fact"
	"github.com/shimquake/shimquake/oracle/finding"
)

// A run is too slow for time limits if its processes stood still for maxStall within
// stallWindow times that. The usual timeout of a call is 10 s, and the shortest limit of
// containerd is 2 s. In a sweep with six cases on two CPUs, none of 289 stood still for
// 1.1 s within 10 s.
const maxStall, stallWindow = 2 * time.Second, 5

// StallLimit is maxStall, or a quarter of the workload's shortest time limit if that is
// shorter.
func StallLimit(w harness.Workload) time.Duration {
	w = w.WithDefaults()
	shortest := min(4*maxStall, w.CallTimeout)
	if slices.ContainsFunc(w.Containers, func(c harness.Container) bool { return c.IgnoresTerm }) {
		shortest = min(shortest, harness.StopGrace)
	}
	return shortest / 4
}

// StoodStill returns the longest time for which processes of a run stood still within one
// window. It returns 0 if that is shorter than the limits of the case allow.
func StoodStill(h harness.History) time.Duration {
	for _, limit := range []time.Duration{maxStall, StallLimit(h.Case.Workload)} {
		if most := mostStill(h.Stalls, stallWindow*limit); most >= limit {
			return most
		}
	}
	return 0
}

// mostStill returns the longest time of stalls within a window.
func mostStill(stalls []harness.Stall, window time.Duration) (most time.Duration) {
	var still time.Duration
	first := 0 // of the window
	for _, s := range stalls {
		still += s.For
		for ; s.From.Sub(stalls[first].From) > window; first++ {
			still -= stalls[first].For
		}
		most = max(most, still)
	}
	return most
}

// withoutStalls removes the findings that a slow machine can cause, if the machine stood
// still. The run is then invalid. These are all findings but crashes, because containerd
// has time limits, too. For example, it leaves a task out of its list if the shim does
// not respond within 2 s.
func withoutStalls(h *harness.History, v *harness.Verdict) {
	late := func(f finding.Finding) bool {
		return f.Violates() && (!isCrash(f) || f.Facts[fact.Asked] == fact.Yes || f.Facts[fact.What] == fact.Boot)
	}
	if StoodStill(*h) == 0 || !slices.ContainsFunc(v.Findings, late) && !v.HasProblem(harness.ByBefore) &&
		!v.HasProblem(harness.ByLook) && !v.HasProblem(harness.ByBoot) {
		return
	}
	v.Findings = slices.DeleteFunc(v.Findings, late)
	v.Problems = append(v.Problems, harness.Problem{Kind: harness.ByStall,
		Text: fmt.Sprintf("the machine stood still for %s", StoodStill(*h).Round(100*time.Millisecond))})
}
