package judge

import (
	"google.golang.org/grpc/codes"

	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/oracle/fact"
	"github.com/shimquake/shimquake/oracle/finding"
)

// lateKills: a signal for what has ended comes to nobody, whoever has its pid since, and
// its sender is told that there is nothing to signal. Of a container in the PID namespace
// of its node the answer is not judged: runc then kills what may be left of its cgroup,
// which succeeds where nothing is.
func lateKills(h *harness.History) (found []finding.Finding, _ []harness.Problem) {
	for _, k := range h.LateKills {
		find := func(fs fact.Facts) {
			found = append(found, finding.Finding{Invariant: finding.Liveness, Class: finding.ClassContainer,
				Subject: finding.Subject{ID: k.Of, Exec: k.Exec, PID: k.PID}, Facts: ofExec(k.Exec, fs)})
		}
		if k.Hit {
			find(fact.Facts{fact.What: fact.KillHitsAnother})
		}
		switch {
		case k.Exec == "" && sharesPIDs(h, k.Of):
		case k.Err == nil:
			find(fact.Facts{fact.What: fact.LateKillAs, fact.Code: codes.OK.String()})
		case k.Err.Answered && k.Err.Code != codes.NotFound.String():
			find(fact.Facts{fact.What: fact.LateKillAs, fact.Code: k.Err.Code,
				fact.Error: k.Err.Text})
		}
	}
	return found, nil
}

// sharesPIDs reports whether a container has no PID namespace of its own.
func sharesPIDs(h *harness.History, id string) bool {
	for _, i := range h.Instances {
		if i.ID == id {
			return i.Spec.SharedPID
		}
	}
	return false
}
