package judge

import (
	"fmt"
	"slices"

	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/oracle/check"
	"github.com/shimquake/shimquake/oracle/fact"
	"github.com/shimquake/shimquake/oracle/finding"
)

// times: all reports of an exit have the same possible time and the right pid. The times
// of events are judged here, too.
func times(h *harness.History) (found []finding.Finding, _ []harness.Problem) {
	if !looked(h) {
		return nil, nil
	}
	_, _, reported := h.FirstUse()
	for _, o := range reported {
		n := slices.IndexFunc(h.Instances, func(i harness.Instance) bool { return i.ID == o.Container })
		if n < 0 {
			continue
		}
		find := func(status string, fs fact.Facts) {
			fs[fact.By], fs[fact.Status] = string(o.Observer), status
			found = append(found, finding.Finding{
				Invariant: finding.Exit, Class: finding.ClassExitCode, Facts: ofExec(o.Exec, fs),
				Subject: finding.Subject{ID: o.Container, Exec: o.Exec, PID: o.PID},
			})
		}
		pid, alive, seen := processOf(h, h.Instances[n], o.Exec)
		if pid != 0 && o.PID != int(pid) {
			find(fact.WrongPID, fact.Facts{fact.Reported: fmt.Sprint(o.PID), fact.True: fmt.Sprint(pid)})
		}
		from, by := alive, h.After.At
		if reportedTrue(h, h.Instances[n], o.Exec, o.Status) {
			by = check.MinNonZero(by, seen)
		} else {
			from = h.Instances[n].Begun
		}
		if fs, wrong := check.WrongEnd(o.At, from, by); wrong {
			find(fact.WrongTime, fs)
		}
	}
	return append(found, differingTimes(h)...), nil
}

// reportedTrue reports whether a status is that which a process has ended with. The time
// that goes with one that is made up is made up, too, and the ledger tells of that: of a
// shim's death, while the container runs on. Any since the container was asked for will
// do.
func reportedTrue(h *harness.History, i harness.Instance, exec string, status uint32) bool {
	t, ran, err := truth(h, i)
	for _, e := range i.Execs {
		if e.Called() == exec {
			t, ran, err = execTruth(h, i, e)
		}
	}
	return ran && err == nil && t.Status == status
}
