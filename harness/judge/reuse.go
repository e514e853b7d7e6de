package judge

import (
	"fmt"
	"slices"

	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/oracle/compare"
	"github.com/shimquake/shimquake/oracle/fact"
	"github.com/shimquake/shimquake/oracle/finding"
	"github.com/shimquake/shimquake/oracle/residue"
)

// restart: a containerd with nothing to load answers again within the bound.
func restart(h *harness.History) ([]finding.Finding, []harness.Problem) {
	if h.Restart == nil || h.Restart.Err == nil {
		return nil, nil
	}
	return []finding.Finding{
		{Invariant: finding.Liveness, Class: finding.ClassDaemon, Facts: h.Restart.Err.Facts(fact.ARestart).With(
			fact.Facts{fact.Bound: h.Restart.Bound.String()})},
	}, nil
}

// reuse: the id can be used again, and that leaves nothing either.
func (known excuses) reuse(h *harness.History) ([]finding.Finding, []harness.Problem) {
	switch {
	case h.Reuse == nil:
		return nil, nil
	case h.Reuse.Err != nil && h.MachineCannot():
		return nil, problem(harness.ByLook, fmt.Sprintf("the first id cannot be used again (%s), and on %s the workload %s",
			h.Reuse.Err.Text, h.Reference.Version, "does not work either: "+h.Reference.Why))
	case h.Reuse.Err != nil:
		return []finding.Finding{
			{Invariant: finding.Liveness, Class: finding.ClassContainer, Facts: h.Reuse.Err.Facts(fact.IDReuse)},
		}, nil
	case h.Reuse.After == nil || !looked(h):
		return nil, nil
	}
	l := h.Reuse.After
	if l.Inventory == nil {
		text := "containerd did not come up"
		if l.Asked != nil {
			text = l.Asked.Text
		}
		return nil, problem(harness.ByLook, text)
	}
	left := residue.Mark(known, compare.Leaks(*h.After.Inventory, *l.Inventory), conditions(h, l.At))
	// What was left before may serve the second use, and be connected anew for it.
	owed := compare.Owed(compare.Leaks(*h.Before, *h.After.Inventory))
	return slices.DeleteFunc(left, func(f finding.Finding) bool {
		return f.Invariant == finding.Residue || owed && f.Class == finding.ClassHandle
	}), nil
}
