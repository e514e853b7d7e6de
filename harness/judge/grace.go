package judge

import (
	"slices"
	"time"

	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/oracle/event"
	"github.com/shimquake/shimquake/oracle/fact"
	"github.com/shimquake/shimquake/oracle/finding"
)

// grace: StopContainer gives a container the time that it was asked to. One that ignores
// SIGTERM is not reported to have ended before, and to one that needs a moment containerd
// sends no other signal in that moment.
func grace(h *harness.History) (found []finding.Finding, _ []harness.Problem) {
	if h.CRI == nil || !looked(h) {
		return nil, nil
	}
	for _, i := range h.Instances {
		stop, once := stopOf(h, i)
		if !once && !i.Spec.IgnoresTerm || stop.IsZero() || i.WithPod || i.Spec.Signal != "SIGTERM" ||
			faultKilled(h, i) || clientKilled(h, i) {
			continue
		}
		given, killed := termGrace, secondKill(h, i, stop)
		if i.Spec.IgnoresTerm {
			given, killed = harness.StopGrace, overBy(h, i)
		}
		status := fact.KilledEarly
		if i.Spec.IgnoresTerm && killed.Equal(i.Waited) && !exitSeen(h, i) && endOf(h, i).IsZero() {
			status = fact.SaidEarly
		}
		if had := killed.Sub(stop); !killed.IsZero() && had < given-clockGrace {
			found = append(found, finding.Finding{
				Invariant: finding.End, Class: finding.ClassEnd, Subject: finding.Subject{ID: i.ID, PID: int(i.PID)},
				Facts: fact.Facts{fact.Status: status, fact.Bound: given.String(),
					fact.Apart: had.Round(time.Millisecond).String()},
			})
		}
	}
	return found, nil
}

// exitSeen reports whether a shim has told of a container's end.
func exitSeen(h *harness.History, i harness.Instance) bool {
	return slices.ContainsFunc(h.Events, func(e event.Task) bool {
		return e.Container == i.ID && e.Exec == "" && e.Topic == event.TopicExit
	})
}

// termGrace is more than the moment that a payload needs to end after SIGTERM; its client
// gives it still more.
const termGrace = time.Second

// clockGrace is how far times that two processes took may be apart.
const clockGrace = 50 * time.Millisecond

// stopOf is when the client first asked for a container's stop, or its pod's, and whether
// it did so once.
func stopOf(h *harness.History, i harness.Instance) (at time.Time, once bool) {
	for _, c := range h.Calls {
		if c.Verb == stopVerb(i) && (c.Of == i.Name || i.WithPod) {
			if once = at.IsZero(); once {
				at = c.At
			}
		}
	}
	return at, once
}

// secondKill is when containerd had a shim send a second signal to a container that had
// not ended yet, by its payload's own record; the zero time: it did not.
func secondKill(h *harness.History, i harness.Instance, stop time.Time) time.Time {
	kills := 0
	for _, hit := range h.Hits {
		if hit.Point != "rpc:containerd:Task.Kill:entry" || hit.ID != i.ID || hit.ExecID != "" || hit.Time.Before(stop) {
			continue // an exec's client may have gone
		}
		if kills++; kills == 2 && i.Payload.Exited && hit.Time.Before(i.Payload.ExitedAt) {
			return hit.Time
		}
	}
	return time.Time{}
}
