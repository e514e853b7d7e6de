package judge

import (
	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/oracle"
)

// secondMounts: without a fault a container has all mounts that its root filesystem is to
// have, and when it is deleted what was mounted there is as it was. That it is mounted no
// more is for the leaks to say.
func secondMounts(h *harness.History) (found []oracle.Finding, _ []harness.Problem) {
	if !looked(h) || !h.Case.Faultless() {
		return nil, nil
	}
	for _, i := range h.Instances {
		find := func(fs oracle.Facts) {
			found = append(found, oracle.Finding{Invariant: oracle.Liveness, Class: oracle.ClassContainer,
				Subject: oracle.Subject{ID: i.ID, PID: int(i.PID)}, Facts: fs})
		}
		switch s := i.Second; {
		case s == nil:
		case s.Beat.IsZero():
			find(oracle.Facts{oracle.FactWhat: oracle.MountUnseen, oracle.FactBound: s.Patience.String()})
		case !s.Looked.IsZero() && !s.Kept:
			find(oracle.Facts{oracle.FactWhat: oracle.MountEmptied})
		}
	}
	return found, nil
}
