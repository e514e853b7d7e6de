package judge

import (
	"slices"
	"strings"

	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/oracle"
)

// refusals: what has a command that does not exist does not begin: the call that was to
// begin it fails with its name, no event tells that it has begun or ended, and who waits
// for its end is answered. That the error of the call names the command the baseline
// asks. A fault may have kept the refusal from whom it is for.
func refusals(h *harness.History) (found []oracle.Finding, _ []harness.Problem) {
	if !looked(h) || brokenOrKilled(h, h.After.At) {
		return nil, nil
	}
	for _, i := range h.Instances {
		if i.Spec.NoSuchCommand {
			call, done := "create", i.Created
			if h.Case.Workload.API == harness.CRI {
				call, done = "StartContainer", i.Started
			}
			if !done.IsZero() {
				found = append(found, ofRefused(i, "", oracle.Facts{oracle.FactWhat: oracle.AbsentBegun, oracle.FactCall: call}))
			}
			found = append(found, begunEvents(h, i, "")...)
		}
		for _, e := range i.Execs {
			if e.Absent {
				found = append(found, refusedExec(h, i, e)...)
			}
		}
	}
	return found, nil
}

func refusedExec(h *harness.History, i harness.Instance, e harness.Exec) (found []oracle.Finding) {
	switch {
	case e.Sync != nil && !e.Sync.Answered.IsZero() && e.Sync.Err == nil:
		found = append(found, ofRefused(i, e.Called(),
			oracle.Facts{oracle.FactWhat: oracle.AbsentBegun, oracle.FactCall: "ExecSync"}))
	case e.Sync == nil && !e.Started.IsZero():
		found = append(found, ofRefused(i, e.Called(),
			oracle.Facts{oracle.FactWhat: oracle.AbsentBegun, oracle.FactCall: "exec-start"}))
	}
	if w := e.Early; w != nil && w.Answered.IsZero() && !w.Until.IsZero() && !downBetween(h, w.At, w.Until) {
		found = append(found, ofRefused(i, e.Called(),
			oracle.Facts{oracle.FactWhat: oracle.RefusedUnanswered, oracle.FactBound: w.Patience.String()}))
	}
	return append(found, begunEvents(h, i, e.Called())...)
}

// ofRefused is a finding about a container, or about an exec in it, that cannot begin.
func ofRefused(i harness.Instance, exec string, fs oracle.Facts) oracle.Finding {
	return oracle.Finding{Invariant: oracle.Liveness, Class: oracle.ClassContainer, Facts: ofExec(exec, fs),
		Subject: oracle.Subject{ID: i.ID, Exec: exec}}
}

// begunEvents are those that tell of what never began.
func begunEvents(h *harness.History, i harness.Instance, exec string) (found []oracle.Finding) {
	begun := []string{oracle.TopicCreate, oracle.TopicStart, oracle.TopicExecStart, oracle.TopicExit}
	seen, _, _ := h.FirstUse()
	for _, e := range seen {
		if i.ID != "" && e.Container == i.ID && e.Exec == exec && slices.Contains(begun, e.Topic) {
			found = append(found, oracle.Finding{Invariant: oracle.Event, Class: oracle.ClassEvent,
				Subject: oracle.Subject{Namespace: e.Namespace, ID: i.ID, Exec: exec, PID: e.PID},
				Facts:   ofExec(exec, oracle.Facts{oracle.FactEvent: oracle.OfRefused, oracle.FactTopic: e.Topic})})
		}
	}
	return found
}

// refusal reports whether a call has failed as it had to: what it was to begin has a
// command that does not exist, which its error names.
func refusal(h *harness.History, c harness.Call) bool {
	return c.Err != nil && namesAbsent(c.Err.Text) && slices.ContainsFunc(h.Instances, func(i harness.Instance) bool {
		return (c.Of == i.Name || c.Of == i.ID) && (i.Spec.NoSuchCommand || i.Spec.NoSuchExec)
	})
}

// namesAbsent reports whether an error says which command does not exist.
func namesAbsent(text string) bool { return strings.Contains(text, harness.AbsentCommand) }
