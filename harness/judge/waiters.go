package judge

import (
	"slices"
	"strings"
	"time"

	"google.golang.org/grpc/codes"

	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/oracle/fact"
	"github.com/shimquake/shimquake/oracle/finding"
)

// answerIn is how long a Wait may take to be answered when the container has ended: a
// dead shim is cleaned up after within 5 s (shim.cleanup of [timeouts]).
const answerIn = 6 * time.Second

// waiters: a Wait for the end of a container is answered, also with an error, unless
// containerd was down or a fault has held or cancelled a call.
func waiters(h *harness.History) (found []finding.Finding, _ []harness.Problem) {
	given := []string{codes.DeadlineExceeded.String(), codes.Canceled.String()}
	for _, c := range h.Calls {
		over := c.At.Add(c.Took)
		if c.Step == 0 || c.Verb != "wait" || c.Err == nil || !slices.Contains(given, c.Err.Code) ||
			tolerated(h, waitReturns, harness.Instance{}, span{c.At, over}) {
			continue
		}
		id, exec, _ := strings.Cut(c.Of, "/")
		n := slices.IndexFunc(h.Instances, func(i harness.Instance) bool { return i.ID == id })
		if n < 0 {
			continue
		}
		end := overOf(h, h.Instances[n], exec)
		if had := over.Sub(latest(end, c.At)); !end.IsZero() && had >= answerIn {
			found = append(found, finding.Finding{
				Invariant: finding.Liveness, Class: finding.ClassContainer, Subject: finding.Subject{ID: id, Exec: exec},
				Facts: ofExec(exec, fact.Facts{fact.What: fact.WaitUnanswered, fact.Bound: had.Round(time.Second).String()}),
			})
		}
	}
	return found, nil
}

// overOf returns the end of a container, or of an exec in it, or the refusal of the start
// of an exec; the zero time: there was none.
func overOf(h *harness.History, i harness.Instance, exec string) (over time.Time) {
	if exec == "" {
		return endOf(h, i)
	}
	for _, e := range i.Execs {
		if e.Called() == exec && !e.Absent {
			return process{h, i, &e}.over()
		}
	}
	for _, c := range h.Calls {
		if c.Verb == "start" && c.Of == i.ID+"/"+exec && c.Err != nil {
			over = c.At.Add(c.Took)
		}
	}
	return over
}
