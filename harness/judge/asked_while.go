package judge

import (
	"time"

	"github.com/containerd/containerd/api/types/task"
	"google.golang.org/grpc/codes"

	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/oracle/fact"
	"github.com/shimquake/shimquake/oracle/finding"
)

// askedWhile: who asks for the state of a container is told it, also while a call about
// it takes long; UNKNOWN is no state. Another error is an answer. Nobody answers while
// containerd is down, or while something stands still, and none in time where each CPU
// has too much to do.
func askedWhile(h *harness.History) (found []finding.Finding, _ []harness.Problem) {
	if h.Load > busy {
		return nil, nil
	}
	for _, a := range h.AskedWhile {
		late := a.Err != nil && a.Err.Code == codes.DeadlineExceeded.String() ||
			a.Err == nil && a.As == task.Status_UNKNOWN.String()
		if !late || tolerated(h, stateAnswered, harness.Instance{}, span{a.At, a.At.Add(a.Took)}) {
			continue
		}
		said := a.As
		if a.Err != nil {
			said = a.Err.Text
		}
		found = append(found, finding.Finding{Invariant: finding.Liveness, Class: finding.ClassContainer,
			Subject: finding.Subject{ID: a.Of}, Facts: fact.Facts{fact.What: fact.AskedUnanswered,
				fact.Call: a.Held, fact.Apart: a.Took.Round(time.Millisecond).String(), fact.Error: said}})
	}
	return found, nil
}
