package judge

import (
	"slices"
	"time"

	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/oracle"
)

// grace: a container that ignores SIGTERM is killed when the time that StopContainer was
// given is over, and not before. One that needs a moment to end says by its status whether
// it had that.
func grace(h *harness.History) (found []oracle.Finding, _ []harness.Problem) {
	if h.CRI == nil || !looked(h) {
		return nil, nil
	}
	for _, i := range h.Instances {
		stop, ok := stopOf(h, i)
		over := overBy(h, i)
		if !ok || !i.Spec.IgnoresTerm || over.IsZero() || faultKilled(h, i) || clientKilled(h, i) {
			continue
		}
		if had := over.Sub(stop); had < harness.StopGrace-clockGrace {
			found = append(found, oracle.Finding{
				Invariant: oracle.End, Class: oracle.ClassEnd, Subject: oracle.Subject{ID: i.ID, PID: int(i.PID)},
				Facts: oracle.Facts{oracle.FactStatus: oracle.KilledEarly, oracle.FactApart: had.Round(time.Millisecond).String(),
					oracle.FactBound: harness.StopGrace.String()},
			})
		}
	}
	return found, nil
}

// clockGrace is how far times that two processes took may be apart.
const clockGrace = 50 * time.Millisecond

// stopOf is when the client first asked for a container's stop.
func stopOf(h *harness.History, i harness.Instance) (time.Time, bool) {
	n := slices.IndexFunc(h.Calls, func(c harness.Call) bool { return c.Verb == "StopContainer" && c.Of == i.Name })
	if n < 0 {
		return time.Time{}, false
	}
	return h.Calls[n].At, true
}
