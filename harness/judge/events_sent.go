package judge

import (
	"slices"
	"time"

	"github.com/containerd/ttrpc"

	"github.com/shimquake/shimquake/failpoints"
	"github.com/shimquake/shimquake/failpoints/probe/term"
	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/oracle/event"
	"github.com/shimquake/shimquake/oracle/fact"
	"github.com/shimquake/shimquake/oracle/finding"
)

// How a shim sends an event again that containerd refused, or that it could not send
// while containerd was down (pkg/shim/publisher.go of v2.4.2). It waits a second before
// the second try, two before the third, and tries five times (maxRequeue).
const (
	// stampedIn is how long a shim may take to create an event. It is shorter than the
	// first pause.
	stampedIn = 900 * time.Millisecond
	// sendAgainIn is how long the second try may take.
	sendAgainIn = 2500 * time.Millisecond
	// givenUpIn is how long the shim tries, until it drops the event.
	givenUpIn = (1 + 2 + 3 + 4 + 5) * time.Second
	// heardIn is how long after its start containerd may accept an event that the harness
	// does not get. Usually there is no such time, because the harness subscribes before
	// containerd counts as up.
	heardIn = 200 * time.Millisecond
	// reconnectIn is how long a shim may take to connect again.
	reconnectIn = 100 * time.Millisecond
)

// The points that a shim passes before it sends an event, and when containerd has
// accepted or refused the event.
const (
	forwarding = "rpc:shim:" + forward + ":entry"
	forwarded  = "rpc:shim:" + forward + ":exit"
)

// nextTry returns how long after its last failed try a shim tries again, plus a second.
// failing is the time from its first to its last failed try.
func nextTry(failing time.Duration) time.Duration {
	pause, tries := time.Second, time.Second
	for ; tries <= failing; tries += pause {
		pause += time.Second
	}
	return max(sendAgainIn, pause+time.Second)
}

// sentAgainBy returns the time by which the shim of a container had surely sent an event
// again. The event's cause happened between from and since. The first try failed, because
// containerd was down or refused the event. Until the returned time the shim ran, and no
// call asked it to exit. A pause held the shim before that time, or not at all. The
// harness got all events that containerd accepted from the shim. The time is zero if one
// of these conditions does not hold, or is unknown.
func sentAgainBy(h *run, i harness.Instance, from, since time.Time) time.Time {
	served := h.shimsOf[i.ID]
	if from.IsZero() || since.IsZero() || len(served) != 1 || toleratedOf(h, eventSent, i, span{}) {
		return time.Time{}
	}
	held, ends := heldUntil(h, served)
	since = latest(since, held)
	back, known := backAfter(h, from)
	failed, last := unsent(h.Hits, served, from, back)
	if !ends || !known || back.IsZero() && failed.IsZero() || last.Sub(failed) >= givenUpIn {
		return time.Time{}
	}
	by := since.Add(sendAgainIn)
	if !back.IsZero() {
		by = latest(by, back.Add(sendAgainIn))
	}
	if !failed.IsZero() {
		by = latest(by, last.Add(nextTry(last.Sub(failed))))
	}
	sends := false // A Forward that began earlier is about another event.
	for n := range h.Hits {
		hit := &h.Hits[n]
		if !served[hit.PID] || hit.Who != "shim" || hit.Time.Before(from) || hit.Time.After(by) {
			continue
		}
		sends = sends || hit.Point == forwarding
		unheard := sends && hit.Point == forwarded && hit.Err == "" && !back.IsZero() && hit.Time.Before(back.Add(heardIn))
		exits := hit.Point == "rpc:shim:Task.Shutdown:entry" && !servesAfter(h, hit.PID, by)
		if unheard || exits {
			return time.Time{}
		}
	}
	if h.Done.Before(by) {
		return time.Time{}
	}
	return by
}

// unsent returns the first and the last time at which shims could not send an event. A
// hit does not say which event that was. The times are zero if the shims sent all events.
// The failure of an old connection does not count: when containerd is back, the shim
// sends the event at once by a new one.
func unsent(hits []failpoints.Hit, shims map[int]bool, from, back time.Time) (first, last time.Time) {
	for n := range hits {
		hit := &hits[n]
		failed := hit.Point == forwarded && hit.Err != "" ||
			hit.Did == term.Error && hit.ParsedPoint().What == forward
		if !failed || !shims[hit.PID] || !hit.Time.After(from) {
			continue
		}
		reconnects := !back.IsZero() && hit.Time.After(back) && hit.Err == ttrpc.ErrClosed.Error() &&
			sentAtOnce(hits[n+1:], *hit)
		if !reconnects {
			first, last = soonest(first, hit.Time), latest(last, hit.Time)
		}
	}
	return first, last
}

// sentAtOnce reports whether containerd took the shim's next event soon after a hit.
func sentAtOnce(later []failpoints.Hit, hit failpoints.Hit) bool {
	next := slices.IndexFunc(later, func(o failpoints.Hit) bool { return o.PID == hit.PID && o.Point == forwarded })
	return next >= 0 && later[next].Err == "" && later[next].Time.Before(hit.Time.Add(reconnectIn))
}

// servesAfter reports whether a shim made or received a call after a time. A shim ignores
// Shutdown while it serves other containers.
func servesAfter(h *run, pid int, by time.Time) bool {
	return slices.ContainsFunc(h.Hits, func(hit failpoints.Hit) bool {
		return hit.PID == pid && hit.Who == "shim" && hit.Time.After(by)
	})
}

// sentAgain reports whether a late exit event is one that the shim could not send at its
// first try. It then arrives a second later, after the events that the shim sent
// meanwhile.
func sentAgain(h *run, e event.Task) bool {
	if e.Topic != event.TopicExit || hasNoTime(e.Exited) {
		return false
	}
	failed, _ := unsent(h.hits, h.shimsOf[e.Container], e.Exited, time.Time{})
	return !failed.IsZero() && e.Seen.Sub(failed) >= stampedIn
}

// stampedLate returns the events whose time is later than their shim's first attempt to
// send them. A shim that sends an event again must keep its time.
func stampedLate(h *run) (found []finding.Finding) {
	for _, i := range h.Instances {
		if toleratedOf(h, exitNoticed, i, span{}) {
			continue
		}
		var seen []event.Task
		for _, e := range h.events {
			from, due := readyBetween(h, e)
			if e.Container != i.ID || due.IsZero() {
				continue
			}
			same := func(o event.Task) bool { return o.Topic == e.Topic && o.Exec == e.Exec }
			if slices.ContainsFunc(seen, same) {
				continue // containerd sends it again when it cleans up after the shim
			}
			seen = append(seen, e)
			// Another event may have failed. Then this event was created soon after its
			// cause.
			failed, _ := unsent(h.hits, h.shimsOf[i.ID], from, time.Time{})
			if !failed.IsZero() && e.Sent.After(failed) && e.Sent.Sub(due) > stampedIn {
				found = append(found, ofEvent(e, fact.Facts{fact.Event: fact.StampedLate, fact.Topic: e.Topic,
					fact.At: precisely(e.Sent), fact.NotAfter: precisely(failed)}))
			}
		}
	}
	return uniqueCauses(found)
}

// callOf has the call that causes an event.
var callOf = map[string]string{event.TopicCreate: "Task.Create", event.TopicStart: "Task.Start"}

// readyBetween returns when a shim created an event: not before from, and soon after due.
// The times are zero if that is unknown.
func readyBetween(h *run, e event.Task) (from, due time.Time) {
	call := callOf[e.Topic]
	switch {
	case e.Topic == event.TopicExit && !hasNoTime(e.Exited):
		return e.Exited, e.Exited
	case call == "" || e.Exec != "":
		return time.Time{}, time.Time{}
	}
	for end := range h.callsOf(e.Container, "shim:"+call+":exit") {
		for begin := range h.callsOf(e.Container, "shim:"+call+":entry") {
			if !begin.Time.After(end.Time) {
				from = begin.Time
			}
		}
		return from, end.Time
	}
	return time.Time{}, time.Time{}
}

// acknowledgedWindows returns the times in which containerd knew that the shim of a task
// had reported its exit and its deletion. Each begins when containerd asks the shim to
// exit, after a response that the task is deleted. It ends when containerd dies, or
// creates the id again. If a fault dropped the response, containerd did not know.
func acknowledgedWindows(h *run, id string) (all []event.Gap) {
	var deleted, broken, lost bool // lost: the plan drops the response.
	knows := 0                     // The pid of the containerd that got it.
	hits := slices.Clone(h.Hits)   // The hits of two processes may be out of order.
	slices.SortStableFunc(hits, func(a, b failpoints.Hit) int { return a.Time.Compare(b.Time) })
	for n := range hits {
		hit := &hits[n]
		if hit.Did != term.Off && hit.Who == "containerd" && hit.ParsedPoint().Kind == failpoints.Stmt {
			broken = true
		}
		if hit.ID != id || hit.ExecID != "" {
			continue
		}
		switch hit.Point {
		case "rpc:containerd:Task.Create:entry":
			if n := len(all); n > 0 && all[n-1].To.IsZero() {
				all[n-1].To = hit.Time
			}
			deleted, broken, lost, knows = false, false, false, 0
		case "rpc:containerd:Task.Delete:entry":
			deleted, lost = false, hit.Did == term.Lose
		case "rpc:shim:Task.Delete:exit":
			deleted = hit.Err == "" && hit.Did == term.Off
		case "rpc:containerd:Task.Delete:exit":
			if deleted && !lost && !broken && hit.Err == "" && hit.Did == term.Off {
				knows = hit.PID
			}
		case "rpc:containerd:Task.Shutdown:entry":
			if knows == hit.PID {
				all, knows = append(all, event.Gap{From: hit.Time}), 0
			}
		}
	}
	for n := range all {
		all[n].To = soonest(all[n].To, diedWithin(h, event.Gap{From: all[n].From}))
	}
	return all
}
