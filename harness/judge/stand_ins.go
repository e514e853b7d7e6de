package judge

import (
	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/oracle/fact"
	"github.com/shimquake/shimquake/oracle/finding"
)

// standIns: a signal for a process that has ended does not reach the process that has its
// pid since.
func standIns(h *harness.History) (found []finding.Finding, _ []harness.Problem) {
	for _, in := range h.StandIns {
		of, _ := harness.ObjectNamed(in.Of)
		if in.Hit {
			s := subjectOf(of)
			s.PID = in.PID
			found = append(found, finding.Finding{Invariant: finding.Liveness, Class: finding.ClassContainer, Subject: s,
				Facts: ofExec(s.Exec, fact.Facts{fact.What: fact.KillHitsAnother})})
		}
	}
	return found, nil
}
