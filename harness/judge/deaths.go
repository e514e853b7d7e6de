package judge

import (
	"slices"
	"time"

	"github.com/shimquake/shimquake/failpoints"
	"github.com/shimquake/shimquake/fixtures/containerd/daemon"
	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/oracle/event"
)

// downs returns the times in which containerd was down. A restarted containerd may exit
// before it responds. Then a new downtime begins with its exit.
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

// endSeenIn is how long the harness may take to see the exit of a containerd that
// panicked or crashed. It takes some 20 ms. A containerd that lived longer did not die of
// the panic or crash.
const endSeenIn = time.Second

// diedAt returns when a containerd died: at the fault that killed it, or else when the
// harness saw its exit.
func diedAt(h *harness.History, d daemon.Death) time.Time {
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
	return slices.ContainsFunc(h.downs, func(g event.Gap) bool { return g.Overlaps(from, to) })
}

// lostBetween reports whether containerd ended between two times without a request.
func lostBetween(h *run, from, to time.Time) bool {
	return slices.ContainsFunc(h.Deaths, func(d daemon.Death) bool {
		at := diedAt(h.History, d)
		return (d.Killed || !d.Asked) && !at.Before(from) && !at.After(to)
	})
}

// backAfter returns when containerd last came up after a time, or the zero time if it was
// not down. known is false if containerd did not come up again.
func backAfter(h *run, from time.Time) (back time.Time, known bool) {
	for _, d := range h.downs {
		if d.To.IsZero() {
			return back, false
		}
		if d.To.After(from) {
			back = d.To
		}
	}
	return back, true
}

// upSince returns when containerd last came up between two times. If it did not, upSince
// returns the first time.
func upSince(h *run, from, to time.Time) time.Time {
	for _, g := range h.downs {
		if g.To.After(from) && !g.To.After(to) {
			from = g.To
		}
	}
	return from
}

// gaps returns the times in which the harness was not subscribed: the gaps in its
// subscription, and the times in which containerd was down. The gaps are not enough,
// because the subscriber may see the end of its stream later than containerd's exit.
func gaps(h *run) []event.Gap { return slices.Concat(h.downs, h.Gaps) }

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
		return (k.Who == "shim" || k.Who == "sandbox") && slices.ContainsFunc(h.downs, func(g event.Gap) bool {
			return k.At.Before(g.To) && g.To.Before(at)
		})
	})
}

// starts returns how often containerd was started again.
func starts(h *run) int { return len(h.downs) }

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

// shimDeaths returns the deaths of shims by SIGKILL or by a panic.
func shimDeaths(h *harness.History) (all []harness.Kill) {
	for n := range h.Hits {
		if hit := &h.Hits[n]; hit.Who == "shim" && killedByTerm(hit.Did) {
			all = append(all, harness.Kill{PID: hit.PID, Who: hit.Who, At: hit.Time})
		}
	}
	for _, k := range h.Kills {
		if k.Who == "shim" {
			all = append(all, k)
		}
	}
	return all
}

// shimKills returns the deaths of shims before the second use of the first id.
func shimKills(h *run) []harness.Kill {
	return slices.DeleteFunc(slices.Clone(h.shimDeaths), func(k harness.Kill) bool {
		return !h.Done.IsZero() && k.At.After(h.Done)
	})
}

// shimKillsOf returns the deaths of shims that served a container. If no shim of the id's
// first use has a probe, it returns the deaths of all shims.
func shimKillsOf(h *run, id string) []harness.Kill {
	_, first, _ := h.FirstUse()
	if len(shimsOf(first, id)) == 0 {
		return shimKills(h)
	}
	served := shimsOf(h.Hits, id)
	return slices.DeleteFunc(shimKills(h), func(k harness.Kill) bool { return !served[k.PID] })
}

// shimsOf returns the pids of the shims that received calls about a container, as far as
// they have probes.
func shimsOf(hits []failpoints.Hit, id string) map[int]bool {
	served := map[int]bool{}
	for n := range hits {
		if hits[n].Who == "shim" && hits[n].ID == id {
			served[hits[n].PID] = true
		}
	}
	return served
}
