package judge

import (
	"slices"
	"time"

	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/oracle/event"
	"github.com/shimquake/shimquake/oracle/fact"
	"github.com/shimquake/shimquake/oracle/finding"
)

// stampedIn is how long a shim may take from what an event tells of until it has that
// ready. What it could not send it sends again a second later at the earliest
// (pkg/shim/publisher.go of v2.4.2).
const stampedIn = 900 * time.Millisecond

// stamped: an event has the time at which its shim prepared it, also if containerd was
// down then or refused it.
func stamped(h *harness.History) (found []finding.Finding, _ []harness.Problem) {
	if !looked(h) {
		return nil, nil
	}
	events, hits, _ := h.FirstUse()
	use := *h
	use.Hits = hits
	for _, i := range h.Instances {
		if held(h, i) {
			continue
		}
		served := shimsOf(hits, i.ID)
		var told []event.Task
		for _, e := range events {
			from, due := readyBetween(&use, e)
			if e.Container != i.ID || due.IsZero() {
				continue
			}
			same := func(o event.Task) bool { return o.Topic == e.Topic && o.Exec == e.Exec }
			if slices.ContainsFunc(told, same) {
				continue // containerd repeats it itself, when it cleans up behind the shim
			}
			told = append(told, e)
			// What has failed since may be another's event: this one follows at once.
			tried, _ := unsent(&use, served, from, time.Time{})
			if tried.IsZero() || !e.Sent.After(tried) || e.Sent.Sub(due) <= stampedIn {
				continue
			}
			found = append(found, finding.Finding{Invariant: finding.Event, Class: finding.ClassEvent,
				Subject: finding.Subject{Namespace: e.Namespace, ID: e.Container, Exec: e.Exec, PID: e.PID},
				Facts: ofExec(e.Exec, fact.Facts{fact.Event: fact.StampedLate, fact.Topic: e.Topic,
					fact.At: precisely(e.Sent), fact.NotAfter: precisely(tried)})})
		}
	}
	return uniqueCauses(found), nil
}

// readyBetween is when a shim had an event ready: not before the one, and at once after
// the other. The zero time: that is not known.
func readyBetween(h *harness.History, e event.Task) (from, due time.Time) {
	// The first Create and Start of an id are its init's; the first Delete may be an exec's.
	call := map[string]string{event.TopicCreate: "Create", event.TopicStart: "Start"}[e.Topic]
	switch {
	case e.Topic == event.TopicExit && !untimed(e.Exited):
		return e.Exited, e.Exited
	case call == "" || e.Exec != "":
		return time.Time{}, time.Time{}
	}
	for _, hit := range h.Hits {
		if hit.Who != "shim" || hit.ID != e.Container {
			continue
		}
		switch hit.Point {
		case "rpc:shim:Task." + call + ":entry":
			from = hit.Time
		case "rpc:shim:Task." + call + ":exit":
			return from, hit.Time
		}
	}
	return time.Time{}, time.Time{}
}
