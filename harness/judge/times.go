package judge

import (
	"fmt"
	"slices"

	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/oracle"
)

// times: who tells a client when a container ended tells a time at which it can have
// ended, and the pid that it had. The times of events are judged with these.
func times(h *harness.History) (found []oracle.Finding, _ []harness.Problem) {
	if !looked(h) {
		return nil, nil
	}
	for _, o := range h.Told[:h.Flushed.Told] {
		n := slices.IndexFunc(h.Instances, func(i harness.Instance) bool { return i.ID == o.Container })
		if n < 0 {
			continue
		}
		if of := h.Instances[n]; of.PID != 0 && o.PID != int(of.PID) {
			found = append(found, oracle.Finding{
				Invariant: oracle.Exit, Class: oracle.ClassExitCode, Subject: oracle.Subject{ID: o.Container, PID: o.PID},
				Facts: oracle.Facts{oracle.FactBy: string(o.Observer), oracle.FactStatus: oracle.WrongPID,
					oracle.FactTold: fmt.Sprint(o.PID), oracle.FactTrue: fmt.Sprint(of.PID)},
			})
		}
		alive, _ := livedUntil(h, h.Instances[n])
		by := h.After.At
		if toldTrue(h, h.Instances[n], o.Status) {
			by = oracle.Sooner(by, endedBy(h, h.Instances[n]))
		}
		if fs, wrong := oracle.WrongEnd(o.At, alive, by); wrong {
			fs[oracle.FactBy], fs[oracle.FactStatus] = string(o.Observer), oracle.WrongTime
			found = append(found, oracle.Finding{
				Invariant: oracle.Exit, Class: oracle.ClassExitCode, Facts: fs,
				Subject: oracle.Subject{ID: o.Container, PID: o.PID},
			})
		}
	}
	return found, nil
}

// toldTrue reports whether a status is that which a container has ended with. The time
// that goes with one that is made up is made up, too, and the ledger tells of that.
func toldTrue(h *harness.History, i harness.Instance, status uint32) bool {
	t, ran, err := truth(h, i)
	return ran && err == nil && t.Status == status
}
