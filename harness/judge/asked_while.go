package judge

import (
	"google.golang.org/grpc/codes"

	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/oracle"
)

// askedWhile: who asks for the state of a container is answered, also while a call about
// it takes long. Another error is an answer; nobody answers while containerd is down.
func askedWhile(h *harness.History) (found []oracle.Finding, _ []harness.Problem) {
	for _, a := range h.AskedWhile {
		if a.Err == nil || a.Err.Code != codes.DeadlineExceeded.String() || downBetween(h, a.At, a.At.Add(a.Bound)) {
			continue
		}
		found = append(found, oracle.Finding{Invariant: oracle.Liveness, Class: oracle.ClassContainer,
			Subject: oracle.Subject{ID: a.Of}, Facts: oracle.Facts{oracle.FactWhat: oracle.AskedUnanswered,
				oracle.FactCall: a.Held, oracle.FactBound: a.Bound.String(), oracle.FactError: a.Err.Text}})
	}
	return found, nil
}
