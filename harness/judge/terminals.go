package judge

import (
	"fmt"

	"github.com/shimquake/shimquake/fixtures/payload"
	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/oracle"
)

// terminals: without a fault the window of a terminal has the size that it was given.
func terminals(h *harness.History) (found []oracle.Finding, _ []harness.Problem) {
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
func wrongSize(i harness.Instance, exec string, r *harness.Resize, own payload.Truth) []oracle.Finding {
	if r == nil || r.Done.IsZero() || !own.Exited || r.Rows == own.Rows && r.Cols == own.Cols {
		return nil
	}
	return []oracle.Finding{{Invariant: oracle.Liveness, Class: oracle.ClassContainer,
		Subject: oracle.Subject{ID: i.ID, Exec: exec}, Facts: ofExec(exec, oracle.Facts{
			oracle.FactWhat: oracle.WindowSize, oracle.FactTrue: fmt.Sprintf("%dx%d", own.Rows, own.Cols),
			oracle.FactReported: fmt.Sprintf("%dx%d", r.Rows, r.Cols)})}}
}
