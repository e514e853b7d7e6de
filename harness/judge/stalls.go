package judge

import (
	"fmt"
	"slices"
	"time"

	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/oracle/fact"
	"github.com/shimquake/shimquake/oracle/finding"
)

// A run is too slow for time limits if its processes stood still for stallLimit within
// stallWindow. That is the usual timeout of a call. The shortest limit of containerd is
// 2 s. In a sweep with six cases on two CPUs, none of 289 stood still for 1.1 s.
const stallLimit, stallWindow = 2 * time.Second, 10 * time.Second

// StoodStill returns the longest time for which processes of a run stood still within
// stallWindow. It returns 0 if that is less than stallLimit.
func StoodStill(h harness.History) (most time.Duration) {
	var still time.Duration
	first := 0 // of the window
	for _, s := range h.Stalls {
		still += s.For
		for ; s.From.Sub(h.Stalls[first].From) > stallWindow; first++ {
			still -= h.Stalls[first].For
		}
		most = max(most, still)
	}
	if most < stallLimit {
		return 0
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
