package judge

import (
	"slices"
	"time"

	"github.com/containerd/ttrpc"

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

// givenUpIn is after how long a shim gives an event up: it tries again a second after the
// first time, two after the second, and five times in all (maxRequeue there).
const givenUpIn = (1 + 2 + 3 + 4 + 5) * time.Second

// nextTry is how long a shim may take to try again when all its tries have failed for so
// long, with a second more.
func nextTry(failing time.Duration) time.Duration {
	pause, tries := time.Second, time.Second
	for ; tries <= failing; tries += pause {
		pause += time.Second
	}
	return max(sendAgainIn, pause+time.Second)
}

// sentAgainBy is when the shim of a container has surely told again of what came about
// between two times: it could not before, because containerd was down or has refused it,
// and who was to take it has taken nothing from the shim that nobody heard; and the shim
// lived, and was not made to exit, until after that. The zero time: that is not so, or
// not known.
func sentAgainBy(h *harness.History, i harness.Instance, from, since time.Time) time.Time {
	use := *h
	_, use.Hits, _ = h.FirstUse() // the next has a shim of its own
	served := shimsOf(use.Hits, i.ID)
	if from.IsZero() || since.IsZero() || len(served) != 1 || held(h, i) {
		return time.Time{}
	}
	back, known := backAfter(h, from)
	first, last := unsent(h, served, from, back)
	if !known || back.IsZero() && first.IsZero() || last.Sub(first) >= givenUpIn {
		return time.Time{}
	}
	by := since.Add(sendAgainIn)
	if !back.IsZero() {
		by = latest(by, back.Add(sendAgainIn))
	}
	if !first.IsZero() {
		by = latest(by, last.Add(nextTry(last.Sub(first))))
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

// unsent is when shims could not send an event the first time and the last: none says
// which that was. The zero time: they always could. Once containerd is back the first is
// refused by the connection that was, and sent by another at once.
func unsent(h *harness.History, shims map[int]bool, from, back time.Time) (first, last time.Time) {
	for n, hit := range h.Hits {
		// A trace has 100,000 hits: what is cheap to ask is asked first.
		failed := hit.Point == forwarded && hit.Err != "" ||
			hit.Did == term.Error && hit.Passed().What == forward
		reconnects := func() bool {
			return !back.IsZero() && hit.Time.After(back) && hit.Err == ttrpc.ErrClosed.Error() &&
				sentAtOnce(h.Hits[n+1:], hit)
		}
		if failed && shims[hit.PID] && hit.Time.After(from) && !reconnects() {
			if first.IsZero() || hit.Time.Before(first) {
				first = hit.Time
			}
			last = latest(last, hit.Time)
		}
	}
	return first, last
}

// atOnce is how long a shim may take to connect once more.
const atOnce = 100 * time.Millisecond

// sentAtOnce reports whether what a shim next tells containerd after a hit is taken, and
// told at once.
func sentAtOnce(later []failpoints.Hit, hit failpoints.Hit) bool {
	next := slices.IndexFunc(later, func(o failpoints.Hit) bool { return o.PID == hit.PID && o.Point == forwarded })
	return next >= 0 && later[next].Err == "" && later[next].Time.Before(hit.Time.Add(atOnce))
}

// servesAfter reports whether a shim has done something after a time: one that serves
// others does not exit when it is asked to for one of them.
func servesAfter(h *harness.History, pid int, by time.Time) bool {
	return slices.ContainsFunc(h.Hits, func(hit failpoints.Hit) bool {
		return hit.PID == pid && hit.Who == "shim" && hit.Time.After(by)
	})
}
