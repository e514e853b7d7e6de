package sweep

import (
	"slices"

	"github.com/shimquake/shimquake/failpoints"
)

// mostFirsts is how many first crashes have their recovery crashed. Each point of it is crashed after perLoadPoint of them while containerd starts,
// and after perPoint while the client goes on.
const (
	mostFirsts   = 12
	perLoadPoint = 3
	perPoint     = 1
)

// everyStatement are functions in which each statement may leave something else on disk: the fork of a shim, and the end of a bundle.
var everyStatement = []string{"runtime.binary.Start", "runtime.Bundle.Delete", "runtime.atomicDelete", "runtime.binary.Delete"}

// fewStatements is what a function must have at least for its head to be tried as a first crash: those with less look something up.
const fewStatements = 4

// statements is how many of the passes are in the function of one of them, on its path.
func statements(passes []Pass, of Pass) int {
	n := 0
	for _, p := range passes {
		if p.Point.Who == of.Point.Who && p.Point.What == of.Point.What && p.Path == of.Path {
			n++
		}
	}
	return n
}

// recovery crashes containerd while it recovers from a crash. What is different on disk shows in what the recovery does; so the first crashes are
// chosen by that: of all methods of ttrpc, the heads of all functions that do more than look something up, and all statements of those that fork shims
// and delete bundles, as many as it takes to have every point that any recovery passes, at most mostFirsts. Each point is then crashed after the first
// few of them that lead to it.
func (w *pairing) recovery() ([]Spec, error) {
	var firsts []Spec
	for _, workload := range []string{"task", "restart"} {
		passes, steady, err := w.plain(workload)
		if err != nil {
			return nil, err
		}
		crashes := firstOfEach(passes, "crash", func(p Pass) bool { // what is no hit of every run is no first crash: all else builds upon it
			// Without containers there is nothing to recover, and with one running there is on the restart only.
			return steady(p) && !boots(p) && p.Point.Who == "containerd" && (p.Path == "load") == (workload == "restart") && (workload == "task" || afterStart(passes, p))
		})
		first := heads(crashes)
		for _, p := range crashes {
			if slices.Contains(everyStatement, p.Point.What) || slices.Contains(first, p) && (p.Moment == atMethod || statements(crashes, p) >= fewStatements) {
				firsts = append(firsts, single(p, "crash", workload))
			}
		}
	}
	traced, err := w.follow(firsts, 1)
	if err != nil {
		return nil, err
	}
	chosen := cover(traced, recovers)
	firsts = firsts[:0]
	for _, a := range chosen {
		firsts = append(firsts, a.first)
	}
	again, err := w.follow(firsts, pairRuns-1) // to see what is passed always
	if err != nil {
		return nil, err
	}
	for i := range chosen {
		chosen[i].later = append(chosen[i].later, again[i].later...)
	}
	return pairUp(chosen, "crash", recovers, func(p Pass) int {
		if p.Path == "load" {
			return perLoadPoint
		}
		return perPoint
	}), nil
}

// afterStart says whether a pass comes after a container has been started.
func afterStart(passes []Pass, p Pass) bool {
	started := slices.IndexFunc(passes, func(o Pass) bool { return o.Path == "start" })
	return started >= 0 && slices.Index(passes, p) > started
}

// recovers says whether a pass is part of a recovery: containerd's own, and not what it does at every start.
func recovers(p Pass) bool { return p.Point.Who == "containerd" && !boots(p) && p.decides("crash") }

// cover chooses the fewest, greedily, whose passes have every point that any has; those that add most come first.
func cover(all []after, counts func(Pass) bool) []after {
	points := make([]map[failpoints.Point]bool, len(all))
	for i, a := range all {
		points[i] = map[failpoints.Point]bool{}
		for _, p := range a.later[0] {
			if counts(p) {
				points[i][p.Point] = true
			}
		}
	}
	var chosen []after
	covered := map[failpoints.Point]bool{}
	for len(chosen) < mostFirsts {
		best, most := -1, 0
		for i := range all {
			n := 0
			for p := range points[i] {
				if !covered[p] {
					n++
				}
			}
			if n > most {
				best, most = i, n
			}
		}
		if best < 0 {
			return chosen
		}
		for p := range points[best] {
			covered[p] = true
		}
		chosen = append(chosen, all[best])
	}
	return chosen
}

// pairUp makes the cases: each point on each path after at most that many of the first faults that lead to it. A first fault that was not reached again
// is planned alone, so that the report tells of it.
func pairUp(all []after, action string, keep func(Pass) bool, most func(Pass) int) []Spec {
	count := map[string]int{}
	var out []Spec
	for _, a := range all {
		if slices.ContainsFunc(a.later, func(run []Pass) bool { return run == nil }) {
			out = append(out, a.first)
			continue
		}
		always := common(a.later)
		for _, p := range firstOfEach(a.later[0], action, keep) {
			key := p.Point.String() + " " + p.Path
			if count[key]++; count[key] > most(p) {
				continue
			}
			s := a.first.then(p, action)
			s.Unsteady = !slices.ContainsFunc(always, func(o Pass) bool { return o.key() == p.key() })
			out = append(out, s)
		}
	}
	return out
}
