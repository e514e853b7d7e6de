package judge

import (
	"slices"
	"time"

	"github.com/shimquake/shimquake/failpoints"
	"github.com/shimquake/shimquake/failpoints/probe/term"
	"github.com/shimquake/shimquake/harness"
)

// sendAgainIn is how long a shim may take until an event is sent that it could not send
// when containerd was down: it waits for a second (pkg/shim/publisher.go of v2.4.2), and
// for two when that fails.
const sendAgainIn = 2500 * time.Millisecond

// heardIn is how long after containerd is back an event may be taken that its subscribers
// do not hear. They subscribe before it counts as back: it takes no time.
const heardIn = 200 * time.Millisecond

// maxTries is after how many a shim gives an event up (maxRequeue there).
const maxTries = 5

// sentAgainBy is when the shim of a container has surely told again of what came about
// between two times: it could not before, because containerd was down or has refused it,
// and who was to take it has taken nothing from the shim that nobody heard; and the shim
// lived, and was not made to exit, until after that. The zero time: that is not so, or
// not known.
func sentAgainBy(h *harness.History, i harness.Instance, from, since time.Time) time.Time {
	first := *h
	_, first.Hits, _ = h.FirstUse() // the next has a shim of its own
	served := shimsOf(&first, i.ID)
	if from.IsZero() || since.IsZero() || len(served) != 1 || held(h, i) {
		return time.Time{}
	}
	back, known := backAfter(h, from)
	failed, tries := unsent(h, served, from)
	if !known || back.IsZero() && tries == 0 || tries > maxTries {
		return time.Time{}
	}
	by := since.Add(sendAgainIn)
	if !back.IsZero() {
		by = latest(by, back.Add(sendAgainIn))
	}
	if tries > 0 {
		by = latest(by, failed.Add(max(sendAgainIn, time.Duration(tries+1)*time.Second)))
	}
	for _, hit := range h.Hits {
		if !served[hit.PID] || hit.Who != "shim" || hit.Time.Before(from) || hit.Time.After(by) {
			continue
		}
		switch hit.Point {
		case "rpc:shim:Task.Shutdown:entry":
			if !servesAfter(h, hit.PID, by) {
				return time.Time{}
			}
		case forwarded:
			if hit.Err == "" && !back.IsZero() && hit.Time.Before(back.Add(heardIn)) {
				return time.Time{}
			}
		}
	}
	if h.Done.Before(by) {
		return time.Time{}
	}
	return by
}

// forwarded is what a shim passes when containerd has taken an event, or has not.
const forwarded = "rpc:shim:" + forward + ":exit"

// backAfter is when containerd was back after the last time that it was down after
// another; the zero time: it was not down. It is not known of one that never came back.
func backAfter(h *harness.History, from time.Time) (back time.Time, known bool) {
	for _, d := range downs(h) {
		if d.To.IsZero() {
			return back, false
		}
		if d.To.After(from) {
			back = d.To
		}
	}
	return back, true
}

// unsent is when shims could not send an event the last time, and how often.
func unsent(h *harness.History, shims map[int]bool, from time.Time) (last time.Time, tries int) {
	for _, hit := range h.Hits {
		failed := hit.Point == forwarded && hit.Err != "" ||
			hit.Passed().What == forward && hit.Did == term.Error
		if shims[hit.PID] && failed && hit.Time.After(from) {
			last, tries = latest(last, hit.Time), tries+1
		}
	}
	return last, tries
}

// servesAfter reports whether a shim has done something after a time: one that serves
// others does not exit when it is asked to for one of them.
func servesAfter(h *harness.History, pid int, by time.Time) bool {
	return slices.ContainsFunc(h.Hits, func(hit failpoints.Hit) bool {
		return hit.PID == pid && hit.Who == "shim" && hit.Time.After(by)
	})
}
