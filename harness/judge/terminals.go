package judge

import (
	"fmt"

	"github.com/shimquake/shimquake/fixtures/payload"
	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/oracle/fact"
	"github.com/shimquake/shimquake/oracle/finding"
)

// terminals: without a fault the window of a terminal has the size that it was given.
func terminals(h *harness.History) (found []finding.Finding, _ []harness.Problem) {
	if !looked(h) || !h.Case.Faultless() {
		return nil, nil
	}
	for _, i := range h.Instances {
		found = append(found, wrongSize(i, "", i.Resize, i.Payload)...)
		for _, e := range i.Execs {
			found = append(found, wrongSize(i, e.Called(), e.Resize, e.Payload)...)
		}
	}
	return found, nil
}

// wrongSize is of the terminal of a container's init, or of an exec in it. What is killed
// has not noted it.
func wrongSize(i harness.Instance, exec string, r *harness.Resize, own payload.Truth) []finding.Finding {
	if r == nil || r.Done.IsZero() || !own.Exited || r.Rows == own.Rows && r.Cols == own.Cols {
		return nil
	}
	return []finding.Finding{{Invariant: finding.Liveness, Class: finding.ClassContainer,
		Subject: finding.Subject{ID: i.ID, Exec: exec}, Facts: ofExec(exec, fact.Facts{
			fact.What: fact.WindowSize, fact.True: fmt.Sprintf("%dx%d", own.Rows, own.Cols),
			fact.Reported: fmt.Sprintf("%dx%d", r.Rows, r.Cols)})}}
}
