package judge

import (
	"fmt"

	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/oracle/fact"
	"github.com/shimquake/shimquake/oracle/finding"
)

// meters: without a fault Metrics tell of each task once, with its own memory limit,
// which is that of the last Update; and one that is asked about alone is alone in the
// answer. The page of metrics tells the same, also of an id that is used again.
func meters(h *harness.History) (found []finding.Finding, _ []harness.Problem) {
	if !looked(h) || !h.Case.Faultless() {
		return nil, nil
	}
	for _, i := range h.Instances {
		for _, m := range i.Meters {
			found = append(found, metered(finding.Subject{ID: i.ID, PID: int(i.PID)}, m)...)
		}
	}
	if h.Reuse != nil {
		for _, m := range h.Reuse.Use.Meters {
			found = append(found, metered(finding.Subject{ID: h.Reuse.Use.ID, PID: int(h.Reuse.Use.PID)}, m)...)
		}
	}
	return found, nil
}

func metered(of finding.Subject, m harness.Meter) []finding.Finding {
	says, what := fmt.Sprint(m.Told), fact.MeterAs
	switch {
	case m.Err != nil:
		says = m.Err.Text
	case m.Filter != "" && m.Others > 0:
		says = fmt.Sprintf("%d others", m.Others)
	case len(m.Told) == 1 && m.Told[0] == m.Limit:
		return nil
	}
	if m.Page {
		what = fact.MeterPageAs
	}
	return []finding.Finding{{
		Invariant: finding.Liveness, Class: finding.ClassContainer, Subject: of,
		Facts: fact.Facts{fact.What: what, fact.Reported: says, fact.True: fmt.Sprint(m.Limit)},
	}}
}
