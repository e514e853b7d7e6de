package judge

import (
	"strings"

	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/oracle/fact"
	"github.com/shimquake/shimquake/oracle/finding"
)

// filtered: without a fault a list of containers by a filter has those that it selects.
func filtered(h *harness.History) (found []finding.Finding, _ []harness.Problem) {
	if !h.Case.Faultless() || len(h.Deaths) > 0 {
		return nil, nil
	}
	for _, q := range h.Filtered {
		add := func(wrong string) {
			found = append(found, finding.Finding{Invariant: finding.Liveness, Class: finding.ClassDaemon, Facts: fact.Facts{
				fact.What: fact.WrongList, fact.Call: q.Filter, fact.Reported: wrong}})
		}
		switch {
		case q.Err != nil && q.Err.Answered:
			add("fails: " + q.Err.Text)
		case q.Err != nil: // what it comes to is for others to say
		case len(q.Left) > 0:
			add("lacks " + strings.Join(q.Left, ", "))
		case len(q.Others) > 0:
			add("has " + strings.Join(q.Others, ", ") + ", too")
		}
	}
	return uniqueCauses(found), nil
}
