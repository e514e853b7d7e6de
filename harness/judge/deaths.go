package judge

import (
	"slices"
	"time"

	"github.com/shimquake/shimquake/fixtures/containerd/daemon"
	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/oracle/event"
)

// endSeenIn is how long the harness may take to see the exit of a containerd that
// panicked or crashed. It takes some 20 ms. A containerd that lived longer did not die of
// the panic or crash.
const endSeenIn = time.Second

// diedAt returns when a containerd died: at the fault that killed it, or else when the
// harness saw its exit.
func diedAt(h *run, d daemon.Death) time.Time {
	if d.Asked {
		return d.At
	}
	at := d.At
	for _, k := range h.Kills {
		if k.PID == d.PID && k.Who == "containerd" && k.At.Before(at) {
			at = k.At
		}
	}
	for n := range h.Hits {
		hit := &h.Hits[n]
		if hit.Who == "containerd" && hit.PID == d.PID && killedByTerm(hit.Did) && hit.Time.Before(d.At) &&
			d.At.Sub(hit.Time) < endSeenIn {
			at = hit.Time
		}
	}
	return at
}

// downBetween reports whether containerd was down at some time between two others.
func downBetween(h *run, from, to time.Time) bool {
	for down := range h.effectsOf(containerdDown) {
		if down.gap().Overlaps(from, to) {
			return true
		}
	}
	return false
}

// lostBetween reports whether containerd ended between two times without a request.
func lostBetween(h *run, from, to time.Time) bool {
	return slices.ContainsFunc(h.Deaths, func(d daemon.Death) bool {
		at := diedAt(h, d)
		return (d.Killed || !d.Asked) && !at.Before(from) && !at.After(to)
	})
}

// backAfter returns when containerd last came up after a time, or the zero time if it was
// not down. known is false if containerd did not come up again.
func backAfter(h *run, from time.Time) (back time.Time, known bool) {
	for down := range h.effectsOf(containerdDown) {
		if down.to.IsZero() {
			return back, false
		}
		if down.to.After(from) {
			back = down.to
		}
	}
	return back, true
}

// lastUp returns when containerd last came up by a time, or the zero time.
func lastUp(h *run, by time.Time) (last time.Time) {
	for down := range h.effectsOf(containerdDown) {
		if !down.to.After(by) {
			last = latest(last, down.to)
		}
	}
	return last
}

// diedWithin returns when containerd died within a time, or the zero time.
func diedWithin(h *run, s event.Gap) time.Time {
	for _, d := range h.Deaths {
		if d.At.After(s.From) && (s.To.IsZero() || d.At.Before(s.To)) {
			return d.At
		}
	}
	return time.Time{}
}

// killOf returns when the harness killed a process, or the zero time.
func killOf(h *run, pid uint32) time.Time {
	for _, k := range h.Kills {
		if pid != 0 && k.PID == int(pid) {
			return k.At
		}
	}
	return time.Time{}
}

// lostBeforeStart reports whether the init or the shim of a sandbox was killed before the
// start of the containerd that ran at a time.
func lostBeforeStart(h *run, at time.Time) bool {
	return slices.ContainsFunc(h.Kills, func(k harness.Kill) bool {
		for down := range h.effectsOf(containerdDown) {
			if k.At.Before(down.to) && down.to.Before(at) {
				return k.Who == "shim" || k.Who == "sandbox"
			}
		}
		return false
	})
}

// interruptions returns the times at which containerd ended or was frozen.
func interruptions(h *run) (all []time.Time) {
	for _, d := range h.Deaths {
		all = append(all, d.At)
	}
	for _, s := range h.Stops {
		all = append(all, s.From)
	}
	return all
}
