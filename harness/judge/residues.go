package judge

import (
	"slices"

	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/oracle/fact"
	"github.com/shimquake/shimquake/oracle/finding"
	"github.com/shimquake/shimquake/oracle/rate"
)

// races counts, for each race that may lose an event, how many events were due and how
// many of these were lost. An event does not count if the harness was not subscribed. One
// case cannot tell a race from an event that is never sent. Many cases can.
func (known excuses) races(h *run, found []finding.Finding) (out []rate.Count) {
	if !settled(h) {
		return nil
	}
	for _, r := range known {
		if r.Rate == 0 || !slices.ContainsFunc(h.Versions(), r.Releases.Applies) {
			continue
		}
		all := rate.Count{ID: r.ID, Most: r.Rate}
		signalled := rate.Count{ID: r.ID, Most: r.Rate, End: rate.BySignal}
		for _, i := range h.Instances {
			lost := slices.ContainsFunc(found, func(f finding.Finding) bool { return f.Known == r.ID && f.Subject.ID == i.ID })
			arrived := i.ID != "" && eventOf(h.events, r.Match[fact.Topic], i.ID) != nil
			if !lost && (!arrived || !lastOfShim(h, i.ID)) {
				continue
			}
			count(&all, lost)
			if endedBySignal(h, i) {
				count(&signalled, lost)
			}
		}
		for _, n := range []rate.Count{all, signalled} {
			if n.Of > 0 {
				out = append(out, n)
			}
		}
	}
	return out
}

func count(n *rate.Count, lost bool) {
	n.Of++
	if lost {
		n.Left++
	}
}

// endedBySignal reports whether a signal ended a container as its workload says, and no
// shim was killed. A killed shim loses its last event.
func endedBySignal(h *run, i harness.Instance) bool {
	t, ran, err := initOf(h, i).truth()
	return err == nil && ran && t.Status > signalBase && t.Status == i.Spec.Want() && i.Spec.Signal != "" &&
		!tolerated(h, childrenKilled, span{})
}
