package judge

import (
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
	return append(left, oracle.Absent(left, now)...), nil
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
