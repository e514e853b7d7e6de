package judge

import (
	"cmp"
	"slices"
	"time"

	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/harness/script"
	"github.com/shimquake/shimquake/oracle/fact"
	"github.com/shimquake/shimquake/oracle/finding"
)

// A call without a fault may take slowAlways, plus slowTimes the time within which the
// quickest quarter of the case's calls returned. At a load of 20 on two CPUs the slowest
// of 22,000 calls took 1.0 s, and a quarter took at most 10 ms. On an emulated machine
// calls take ten times as long.
const slowAlways, slowTimes = 3 * time.Second, 20

// slow: without a fault, a successful call takes about as long as the other calls of its
// case. No stop waits for another stop. A slow call is a finding only if the default
// release can run the case on this machine. Only this rule finds a call that polls
// rarely, or waits until a timeout.
func slow(h *run) (found []finding.Finding, _ []harness.Problem) {
	found = stopsHeldUp(h)
	if !h.MachineCan() {
		return found, nil
	}
	calls, bound := slowCalls(h)
	for _, c := range calls {
		found = append(found, finding.Finding{
			Invariant: finding.Liveness, Class: finding.ClassContainer, Subject: finding.Subject{ID: c.Of},
			Facts: fact.Facts{fact.What: fact.ASlowCall, fact.Call: c.Verb,
				fact.Bound: bound.Round(time.Millisecond).String(),
				fact.Apart: c.Took.Round(time.Millisecond).String()},
		})
	}
	return found, nil
}

// stopsHeldUp returns the stops that wait for the stop of a container that ignores
// SIGTERM, in a case without a fault. They waited if none of them returned earlier. A
// single late stop is no finding, because it may be late on a busy machine.
func stopsHeldUp(h *run) []finding.Finding {
	if tolerated(h, inTime, span{}) {
		return nil
	}
	var slow harness.Call
	var others []harness.Call
	for _, c := range h.Calls {
		n := slices.IndexFunc(h.Instances, func(i harness.Instance) bool { return i.Name == c.Of })
		if c.Verb != "StopContainer" || n < 0 || c.Err != nil {
			continue
		}
		switch {
		case !h.Instances[n].Spec.IgnoresTerm:
			others = append(others, c)
		case c.Took > slow.Took: // a repeated stop does not wait
			slow = c
		}
	}
	until := slow.At.Add(slow.Took)
	beside := func(c harness.Call) bool {
		return c.At.After(slow.At) && c.At.Before(slow.At.Add(harness.StopGrace/2))
	}
	others = slices.DeleteFunc(others, func(c harness.Call) bool { return !beside(c) })
	before := func(c harness.Call) bool { return c.At.Add(c.Took).Before(until) }
	if slow.Verb == "" || len(others) < 2 || slices.ContainsFunc(others, before) {
		return nil
	}
	return []finding.Finding{{
		Invariant: finding.Liveness, Class: finding.ClassContainer, Subject: finding.Subject{ID: others[0].Of},
		Facts: fact.Facts{fact.What: fact.ASlowCall, fact.Call: others[0].Verb, fact.After: fact.AnotherStop,
			fact.Apart: others[0].Took.Round(time.Millisecond).String()},
	}}
}

// slowCalls returns the calls of a case without a fault that took longer than a bound,
// and the bound.
func slowCalls(h *run) ([]harness.Call, time.Duration) {
	waits := slices.ContainsFunc(h.Instances, func(i harness.Instance) bool { return i.Spec.IgnoresTerm })
	calls := slices.DeleteFunc(slices.Clone(h.Calls), func(c harness.Call) bool {
		path, waits := script.Called(c.Verb)
		return path == "" || waits
	})
	if waits || tolerated(h, inTime, span{}) || len(calls) == 0 {
		return nil, 0
	}
	for i := range calls { // containerd is not slow while it waits for a processor
		calls[i].Took -= min(calls[i].Still, calls[i].Took)
	}
	slices.SortStableFunc(calls, func(a, b harness.Call) int { return cmp.Compare(a.Took, b.Took) })
	bound := slowAlways + slowTimes*calls[len(calls)/4].Took
	return slices.DeleteFunc(calls, func(c harness.Call) bool {
		return c.Err != nil || c.Took <= bound+h.Case.Workload.Drains(c) ||
			tolerated(h, inTime, span{c.At, c.At.Add(c.Took)})
	}), bound
}
