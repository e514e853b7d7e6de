package judge

import (
	"slices"
	"time"

	"google.golang.org/grpc/codes"

	"github.com/shimquake/shimquake/failpoints"
	"github.com/shimquake/shimquake/failpoints/probe/term"
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
	if stopsSomething(h) || len(h.Case.Misbehaviours()) > 0 || h.Case.RootDisk() > 0 ||
		slices.ContainsFunc(h.Case.Plan, keepsAnswers) {
		return nil, nil
	}
	for _, c := range h.Calls {
		until := c.At.Add(c.Took)
		if c.Who != harness.AnotherClient && c.Step == 0 || c.Verb != "wait" || c.Err == nil || !slices.Contains(given, c.Err.Code) ||
			c.Unprovoked || downBetween(h, c.At, until) {
			continue
		}
		n := slices.IndexFunc(h.Instances, func(i harness.Instance) bool { return i.ID == c.Of })
		if n < 0 {
			continue
		}
		end := endOf(h, h.Instances[n])
		if had := until.Sub(latest(end, c.At)); !end.IsZero() && had >= answerIn {
			found = append(found, finding.Finding{
				Invariant: finding.Liveness, Class: finding.ClassContainer, Subject: finding.Subject{ID: c.Of},
				Facts: fact.Facts{fact.What: fact.WaitUnanswered, fact.Bound: had.Round(time.Second).String()},
			})
		}
	}
	return found, nil
}

// keepsAnswers reports whether a fault may keep a call from being answered.
func keepsAnswers(f failpoints.Fault) bool {
	return slices.ContainsFunc(f.Do.Clauses(), func(c term.Clause) bool {
		return slices.Contains([]term.Action{term.Hang, term.Lose, term.Stop, term.Cancel, term.Pause, term.Delay}, c.Action)
	})
}
