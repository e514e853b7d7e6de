package judge

import (
	"fmt"

	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/oracle"
)

// states: without a fault a task that was created is called so, one that was started is
// called running, each with the pid that the call was answered with; and whoever has
// created or started something is told its pid.
func states(h *harness.History) (found []oracle.Finding, _ []harness.Problem) {
	if !looked(h) || !h.Case.Faultless() || h.Case.Workload.API == harness.CRI {
		return nil, nil
	}
	for _, i := range h.Instances {
		find := func(exec string, fs oracle.Facts) {
			found = append(found, oracle.Finding{Invariant: oracle.Liveness, Class: oracle.ClassContainer,
				Facts: ofExec(exec, fs), Subject: oracle.Subject{ID: i.ID, Exec: exec, PID: int(i.PID)}})
		}
		for _, s := range i.States {
			for _, fs := range wrongState(s) {
				find("", fs)
			}
		}
		for _, e := range i.Execs {
			if !e.Started.IsZero() && e.PID == 0 {
				find(e.ID, oracle.Facts{oracle.FactWhat: oracle.NoPIDYet, oracle.FactCall: "exec-start"})
			}
		}
	}
	return found, nil
}

func wrongState(s harness.TaskState) (all []oracle.Facts) {
	want := "CREATED"
	if s.Call == "start" {
		want = taskRunning
	}
	as := s.As
	if as == "" {
		as = oracle.None
	}
	if s.Told == 0 {
		all = append(all, oracle.Facts{oracle.FactWhat: oracle.NoPIDYet, oracle.FactCall: s.Call})
	}
	if as != want {
		return append(all, oracle.Facts{oracle.FactWhat: oracle.StateAs, oracle.FactCall: s.Call, oracle.FactTask: as})
	}
	if s.Told != 0 && s.PID != s.Told {
		all = append(all, oracle.Facts{oracle.FactWhat: oracle.StatePID, oracle.FactCall: s.Call,
			oracle.FactReported: fmt.Sprint(s.PID), oracle.FactTrue: fmt.Sprint(s.Told)})
	}
	return all
}
