package judge

import (
	"fmt"

	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/oracle"
)

// meters: without a fault Metrics tell of each task once, with its own memory limit,
// which is that of the last Update; and one that is asked about alone is alone in the
// answer.
func meters(h *harness.History) (found []oracle.Finding, _ []harness.Problem) {
	if !looked(h) || !h.Case.Faultless() {
		return nil, nil
	}
	for _, i := range h.Instances {
		for _, m := range i.Meters {
			says := fmt.Sprint(m.Told)
			switch {
			case m.Err != nil:
				says = m.Err.Text
			case m.Filter != "" && m.Others > 0:
				says = fmt.Sprintf("%d others", m.Others)
			case len(m.Told) == 1 && m.Told[0] == m.Limit:
				continue
			}
			found = append(found, oracle.Finding{
				Invariant: oracle.Liveness, Class: oracle.ClassContainer, Subject: oracle.Subject{ID: i.ID, PID: int(i.PID)},
				Facts: oracle.Facts{
					oracle.FactWhat: oracle.MeterAs, oracle.FactReported: says, oracle.FactTrue: fmt.Sprint(m.Limit)},
			})
		}
	}
	return found, nil
}
