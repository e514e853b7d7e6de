package judge

import (
	"slices"
	"time"

	"github.com/shimquake/shimquake/fixtures/containerd/daemon"
	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/oracle/event"
)

// downs are the times in which containerd was down. One that ended again before it had
// answered is followed by the next.
func downs(h *harness.History) (all []event.Gap) {
	for n, d := range h.Deaths {
		down := event.Gap{From: diedAt(h, d)}
		switch {
		case d.BackIn > 0:
			down.To = d.At.Add(d.BackIn)
		case n+1 < len(h.Deaths):
			down.To = h.Deaths[n+1].At
		}
		all = append(all, down)
	}
	return all
}

// endSeenIn is how long it may take until the end of a process is seen: some 20 ms. One
// that lives on for longer has not died of a panic.
const endSeenIn = time.Second

// diedAt is when a containerd died: the fault that has killed it tells that sooner than
// the end of its process.
func diedAt(h *harness.History, d daemon.Death) time.Time {
	if d.Asked {
		return d.At
	}
	at := d.At
	for _, hit := range h.Hits {
		if hit.Who == "containerd" && hit.PID == d.PID && killedByTerm(hit.Did) && hit.Time.Before(d.At) &&
			d.At.Sub(hit.Time) < endSeenIn {
			at = hit.Time
		}
	}
	return at
}

// downBetween reports whether containerd was down at some time between two.
func downBetween(h *harness.History, from, to time.Time) bool {
	return slices.ContainsFunc(downs(h), func(g event.Gap) bool { return g.Overlaps(from, to) })
}

// upSince returns when the last containerd came up between two times, or the first of the
// two if none did.
func upSince(h *harness.History, from, to time.Time) time.Time {
	for _, g := range downs(h) {
		if g.To.After(from) && !g.To.After(to) {
			from = g.To
		}
	}
	return from
}
