package judge

import (
	"google.golang.org/grpc/codes"

	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/oracle"
)

// lateKills: a signal for what has ended comes to nobody, whoever has its pid since, and
// its sender is told that there is nothing to signal. Of a container in the PID namespace
// of its node the answer is not judged: runc then kills what may be left of its cgroup,
// which succeeds where nothing is.
func lateKills(h *harness.History) (found []oracle.Finding, _ []harness.Problem) {
	for _, k := range h.LateKills {
		find := func(fs oracle.Facts) {
			found = append(found, oracle.Finding{Invariant: oracle.Liveness, Class: oracle.ClassContainer,
				Subject: oracle.Subject{ID: k.Of, Exec: k.Exec, PID: k.PID}, Facts: ofExec(k.Exec, fs)})
		}
		if k.Hit {
			find(oracle.Facts{oracle.FactWhat: oracle.KillHitsAnother})
		}
		switch {
		case k.Exec == "" && sharesPIDs(h, k.Of):
		case k.Err == nil:
			find(oracle.Facts{oracle.FactWhat: oracle.LateKillAs, oracle.FactCode: codes.OK.String()})
		case k.Err.Answered && k.Err.Code != codes.NotFound.String():
			find(oracle.Facts{oracle.FactWhat: oracle.LateKillAs, oracle.FactCode: k.Err.Code,
				oracle.FactError: k.Err.Text})
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
