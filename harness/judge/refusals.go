package judge

import (
	"slices"
	"strings"

	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/oracle/event"
	"github.com/shimquake/shimquake/oracle/fact"
	"github.com/shimquake/shimquake/oracle/finding"
)

// refusals: a process whose command does not exist never begins. No event reports its
// start or its end. Rule baseline checks that the error of the call names the command.
// It judges nothing after a fault, which may have hidden the refusal.
func refusals(h *harness.History) (found []finding.Finding, _ []harness.Problem) {
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
				found = append(found, ofRefused(i, "", fact.Facts{fact.What: fact.AbsentBegun, fact.Call: call}))
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

func refusedExec(h *harness.History, i harness.Instance, e harness.Exec) (found []finding.Finding) {
	switch {
	case e.Sync != nil && !e.Sync.Answered.IsZero() && e.Sync.Err == nil:
		found = append(found, ofRefused(i, e.Called(),
			fact.Facts{fact.What: fact.AbsentBegun, fact.Call: "ExecSync"}))
	case e.Sync == nil && !e.Started.IsZero():
		found = append(found, ofRefused(i, e.Called(),
			fact.Facts{fact.What: fact.AbsentBegun, fact.Call: "start"}))
	}
	return append(found, begunEvents(h, i, e.Called())...)
}

// ofRefused is a finding about a container, or about an exec in it, that cannot begin.
func ofRefused(i harness.Instance, exec string, fs fact.Facts) finding.Finding {
	return finding.Finding{Invariant: finding.Liveness, Class: finding.ClassContainer, Facts: ofExec(exec, fs),
		Subject: finding.Subject{ID: i.ID, Exec: exec}}
}

// begunEvents are those that tell of what never began.
func begunEvents(h *harness.History, i harness.Instance, exec string) (found []finding.Finding) {
	begun := []string{event.TopicCreate, event.TopicStart, event.TopicExecStart, event.TopicExit}
	seen, _, _ := h.FirstUse()
	for _, e := range seen {
		if i.ID != "" && e.Container == i.ID && e.Exec == exec && slices.Contains(begun, e.Topic) {
			found = append(found, finding.Finding{Invariant: finding.Event, Class: finding.ClassEvent,
				Subject: finding.Subject{Namespace: e.Namespace, ID: i.ID, Exec: exec, PID: e.PID},
				Facts:   ofExec(exec, fact.Facts{fact.Event: fact.OfRefused, fact.Topic: e.Topic})})
		}
	}
	return found
}

// refusal reports whether a call has failed as it had to: what it was to begin has a
// command that does not exist, which its error names.
func refusal(h *harness.History, c harness.Call) bool {
	return c.Err != nil && namesAbsent(c.Err.Text) && slices.ContainsFunc(h.Instances, func(i harness.Instance) bool {
		return (c.Of == i.Name || c.Of == i.ID) && (i.Spec.NoSuchCommand ||
			slices.ContainsFunc(i.Spec.Execs, func(e harness.ExecSpec) bool { return e.NoSuchCommand }))
	})
}

// namesAbsent reports whether an error says which command does not exist.
func namesAbsent(text string) bool { return strings.Contains(text, harness.AbsentCommand) }
