package judge

import (
	"slices"

	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/oracle"
)

// times: who tells a client when a container ended tells a time at which it can have
// ended. The times of events are judged with these.
func times(h *harness.History) (found []oracle.Finding, _ []harness.Problem) {
	if !looked(h) {
		return nil, nil
	}
	for _, o := range h.Told[:h.Flushed.Told] {
		n := slices.IndexFunc(h.Instances, func(i harness.Instance) bool { return i.ID == o.Container })
		if n < 0 {
			continue
		}
		alive, _ := livedUntil(h.Instances[n])
		if fs, wrong := oracle.WrongEnd(o.At, alive, h.After.At); wrong {
			fs[oracle.FactBy], fs[oracle.FactStatus] = string(o.Observer), oracle.WrongTime
			found = append(found, oracle.Finding{
				Invariant: oracle.Exit, Class: oracle.ClassExitCode, Facts: fs,
				Subject: oracle.Subject{ID: o.Container, PID: o.PID},
			})
		}
	}
	return found, nil
}
