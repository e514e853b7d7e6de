package report

import "time"

// Part marks what only one of two runs of a workload has done since the first fault, and
// returns how much later than in the second run the first was there. Calls and events
// come concurrently, so their order says nothing: the n-th of a key in one run stands for
// the n-th in the other.
func Part(with, without *Timeline) (later time.Duration) {
	at, ok := with.Fault()
	if !ok {
		return 0
	}
	later = anchor(with, without, at)
	alone(with, without, at, later)
	alone(without, with, at-later, -later)
	return later
}

// anchor is the time between the two runs by the call that the fault was done to. Where
// the second run has no such call, it is by the last thing that both have done before the
// fault.
func anchor(with, without *Timeline, fault time.Duration) time.Duration {
	if later, ok := sameCall(with, without); ok {
		return later
	}
	seen, last, nth := map[string]int{}, "", 0
	var at time.Duration
	for _, i := range with.Items {
		if i.At > fault {
			break
		}
		if i.key == "" || i.Mark == Injured {
			continue
		}
		seen[i.key]++
		if has(without, i.key, seen[i.key]) >= 0 {
			last, nth, at = i.key, seen[i.key], i.At
		}
	}
	if last == "" {
		return 0
	}
	return at - without.Items[has(without, last, nth)].At
}

// sameCall is the time between the two runs by the first call that a fault was done to.
func sameCall(with, without *Timeline) (later time.Duration, ok bool) {
	nth := map[string]int{}
	for _, i := range with.Items {
		if i.call == "" {
			continue
		}
		nth[i.call]++
		if i.Mark != Injured {
			continue
		}
		for _, other := range without.Items {
			if other.call == i.call {
				if nth[i.call]--; nth[i.call] == 0 {
					return i.At - other.At, true
				}
			}
		}
		return 0, false
	}
	return 0, false
}

// has is the index of the n-th item of a key, or -1.
func has(t *Timeline, key string, n int) int {
	for i, item := range t.Items {
		if item.key == key {
			if n--; n == 0 {
				return i
			}
		}
	}
	return -1
}

// alone marks the items of one run since from that the other has not, before both have
// come to the end of their clients. All of a run is counted: what is concurrent with the
// fault may stand before it in the other. The other run may have ended before an event of
// the client's last call arrived.
func alone(one, other *Timeline, from, later time.Duration) {
	count := map[string]int{}
	for _, i := range other.Items {
		if i.key != "" && inWork(other, i) {
			count[i.key]++
		}
	}
	for n := range one.Items {
		i := &one.Items[n]
		if i.Mark == Injured || i.Mark == Left || i.Mark == Wrong {
			i.Parted = i.At+i.Took >= from // also a call at whose end the fault is
			continue
		}
		if i.key == "" || !inWork(one, *i) || other.end > 0 && i.At-later > other.end {
			continue
		}
		if count[i.key]--; count[i.key] < 0 {
			i.Parted = i.At >= from
		}
	}
}

// inWork reports whether an item is of the time in which the client was at work, or just
// after it: shims end then.
func inWork(t *Timeline, i Item) bool { return t.Done == 0 || i.At <= t.Done+grace }

// grace is what an exit may take after the client's last call.
const grace = 200 * time.Millisecond
