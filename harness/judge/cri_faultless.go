package judge

import (
	"fmt"

	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/oracle/fact"
	"github.com/shimquake/shimquake/oracle/finding"
)

// criFiltered: who asks for those of one id, state or label is told of all of them that
// the lists of all have, and of no other.
func criFiltered(h *harness.History) (found []finding.Finding, _ []harness.Problem) {
	if h.CRI == nil || !h.Case.Faultless() {
		return nil, nil
	}
	for _, q := range h.CRI.Filtered {
		add := func(id, is, reported, want string) {
			f := about(q.Object, id, q.Field, is, reported, want)
			f.Facts[fact.What] = fact.Listing
			found = append(found, f)
		}
		by := fmt.Sprintf("those by %s %q", q.Field, q.Value)
		if q.Err != nil {
			add("", fact.NotSet, q.Err.Said, by+" were asked for")
		}
		for _, id := range q.Left {
			add(id, fact.Other, "that it is none of "+by, "one of them")
		}
		for _, id := range q.Others {
			add(id, fact.Other, "that it is one of "+by, "none of them")
		}
	}
	return uniqueCauses(found), nil
}

// criRepeated: to stop and to remove what is gone already succeeds.
func criRepeated(h *harness.History) (found []finding.Finding, _ []harness.Problem) {
	if h.CRI == nil || !h.Case.Faultless() {
		return nil, nil
	}
	for _, r := range h.CRI.Repeated {
		if r.Err != nil && r.Err.Answered {
			found = append(found, finding.Finding{Invariant: finding.Liveness, Class: finding.ClassDaemon,
				Subject: finding.Subject{ID: r.ID}, Facts: r.Err.Facts(fact.GoneFails)})
		}
	}
	return found, nil
}
