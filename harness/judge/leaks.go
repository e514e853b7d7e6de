package judge

import (
	"slices"

	"github.com/shimquake/shimquake/failpoints"
	"github.com/shimquake/shimquake/failpoints/probe/term"
	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/oracle"
)

// leaks: nothing is left that was not there before, but for known residues; one of these
// that should be there and is not is noted.
func leaks(h *harness.History) ([]oracle.Finding, []harness.Problem) {
	if !looked(h) {
		return nil, nil
	}
	now := conditions(h, h.After.At)
	left := oracle.Mark(oracle.Leaks(*h.Before, *h.After.Inventory), now)
	if lost(h) {
		left = slices.DeleteFunc(left, func(f oracle.Finding) bool { return f.Class == oracle.ClassHandle })
	}
	return append(circumstances(h, left), oracle.Absent(left, now)...), nil
}

// lost reports whether a fault has made a call of containerd's and lost what it returned.
// That may have been a descriptor, and then it is the fault that has leaked it.
func lost(h *harness.History) bool {
	return slices.ContainsFunc(h.Hits, func(hit failpoints.Hit) bool {
		return hit.Who == "containerd" && hit.Did == term.Lose
	})
}

// forgotten: no process of a container runs that containerd does not know.
func forgotten(h *harness.History) ([]oracle.Finding, []harness.Problem) {
	if !looked(h) {
		return nil, nil
	}
	found, err := oracle.Forgotten(*h.After.Inventory)
	if err != nil {
		return nil, problem(harness.ByLook, err.Error())
	}
	return found, nil
}
