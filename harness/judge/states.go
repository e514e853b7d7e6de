package judge

import (
	"fmt"

	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/oracle/fact"
	"github.com/shimquake/shimquake/oracle/finding"
)

// states: without a fault a task that was created is called so, one that was started is
// called running, each with the pid that the call was answered with; and whoever has
// created or started something is told its pid.
func states(h *harness.History) (found []finding.Finding, _ []harness.Problem) {
	if !looked(h) || !h.Case.Faultless() || h.Case.Workload.API == harness.CRI {
		return nil, nil
	}
	for _, i := range h.Instances {
		find := func(exec string, fs fact.Facts) {
			found = append(found, finding.Finding{Invariant: finding.Liveness, Class: finding.ClassContainer,
				Facts: ofExec(exec, fs), Subject: finding.Subject{ID: i.ID, Exec: exec, PID: int(i.PID)}})
		}
		for _, s := range i.States {
			for _, fs := range wrongState(s) {
				find("", fs)
			}
		}
		for _, e := range i.Execs {
			if !e.Started.IsZero() && e.PID == 0 {
				find(e.ID, fact.Facts{fact.What: fact.StatePID, fact.Call: "exec-start", fact.Reported: fact.None})
			}
		}
	}
	return found, nil
}

func wrongState(s harness.TaskState) (all []fact.Facts) {
	want := "CREATED"
	if s.Call == "start" {
		want = taskRunning
	}
	as := s.As
	if as == "" {
		as = fact.None
	}
	if s.Told == 0 {
		all = append(all, fact.Facts{fact.What: fact.StatePID, fact.Call: s.Call, fact.Reported: fact.None})
	}
	if as != want {
		return append(all, fact.Facts{fact.What: fact.StateAs, fact.Call: s.Call, fact.Task: as})
	}
	if s.Told != 0 && s.PID != s.Told {
		all = append(all, fact.Facts{fact.What: fact.StatePID, fact.Call: s.Call,
			fact.Reported: fmt.Sprint(s.PID), fact.True: fmt.Sprint(s.Told)})
	}
	return all
}
