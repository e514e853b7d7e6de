package judge

import (
	"strings"

	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/oracle"
)

// filtered: without a fault a list of containers by a filter has those that it selects.
func filtered(h *harness.History) (found []oracle.Finding, _ []harness.Problem) {
	if !h.Case.Faultless() || len(h.Deaths) > 0 {
		return nil, nil
	}
	for _, q := range h.Filtered {
		add := func(wrong string) {
			found = append(found, oracle.Finding{Invariant: oracle.Liveness, Class: oracle.ClassDaemon, Facts: oracle.Facts{
				oracle.FactWhat: oracle.WrongList, oracle.FactCall: q.Filter, oracle.FactReported: wrong}})
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
