package report

import "time"

// MarkDifferences compares a run with a fault to a run of the same workload without it.
// It marks the items after the first fault that only one run has. It returns how much
// later the first run reached the fault's place than the second. Calls and events are
// concurrent, so their order does not matter. The n-th item of a key in one run
// corresponds to the n-th in the other.
func MarkDifferences(with, without *Timeline) (later time.Duration) {
	at, ok := with.Fault()
	if !ok {
		return 0
	}
	later = anchor(with, without, at)
	alone(with, without, at, later)
	alone(without, with, at-later, -later)
	return later
}

// anchor returns how much later the first run was than the second, measured at the call
// that the fault hit. If the second run has no such call, anchor uses the last item
// before the fault that both runs have.
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

// sameCall returns how much later the first run was than the second, measured at the
// first call that a fault hit. It returns false if the second run lacks this call.
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

// has returns the index of the n-th item with a key, or -1.
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

// alone marks the items that only one run has, after the time `from` and until both
// clients are done. It counts the items of the whole runs, because an item concurrent
// with the fault may come before it in the other run. It skips items after the end of the
// other run. An event of the client's last call may arrive after that end.
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
			i.Parted = i.At+i.Took >= from // this includes a call with the fault at its end
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

// inWork reports whether an item happened before the client was done, or within grace
// after that.
func inWork(t *Timeline, i Item) bool { return t.Done == 0 || i.At <= t.Done+grace }

// grace is the time after the client's last call in which shims usually exit.
const grace = 200 * time.Millisecond
