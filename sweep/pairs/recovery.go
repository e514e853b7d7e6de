package pairs

import (
	"slices"

	"github.com/shimquake/shimquake/failpoints"
	"github.com/shimquake/shimquake/sweep/plan"
)

// mostFirsts is the number of first crashes with a crash in their recovery. Each point of
// a recovery is crashed after perLoadPoint of them while containerd starts, and after
// perPoint while the client continues.
const (
	mostFirsts   = 12
	perLoadPoint = 3
	perPoint     = 1
)

// fewStatements is the least size of a function whose first statement is tried as a first
// crash: a smaller function only looks up data.
const fewStatements = 4

// statements returns how many hits are in the function of one of them, on its path.
func statements(passes []plan.Pass, of plan.Pass) int {
	n := 0
	for _, p := range passes {
		if p.Point.Who == of.Point.Who && p.Point.What == of.Point.What && p.Path == of.Path {
			n++
		}
	}
	return n
}

// recovery crashes containerd while it recovers from a crash. A different state on the
// disk shows in the work of the recovery, which decides about the first crashes. It takes
// as many of firstCrashes as reach every point of any recovery, at most mostFirsts. Each
// point is then crashed after the first few of them that lead to it.
func (w *pairing) recovery() ([]plan.Spec, error) {
	firsts, err := w.firstCrashes()
	if err != nil {
		return nil, err
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
	again, err := w.follow(firsts, runs-1) // to find the hits of every run
	if err != nil {
		return nil, err
	}
	for i := range chosen {
		chosen[i].later = append(chosen[i].later, again[i].later...)
	}
	return pairUp(chosen, "crash", recovers, func(p plan.Pass) int {
		if p.Path == "load" {
			return perLoadPoint
		}
		return perPoint
	}), nil
}

// firstCrashes returns crashes of containerd at all methods of ttrpc and at the first
// statements of all larger functions. It adds all statements of the functions that fork
// shims and delete bundles. A hit that not every run has is no first crash, because all
// other hits follow from it.
func (w *pairing) firstCrashes() ([]plan.Spec, error) {
	var firsts []plan.Spec
	for _, workload := range []string{"task", "restart"} {
		passes, steady, err := w.faultless(workload)
		if err != nil {
			return nil, err
		}
		crashes := firstOfEach(passes, "crash", func(p plan.Pass) bool {
			if !steady(p) || boots(p) || p.Point.Who != "containerd" {
				return false
			}
			// Without containers there is nothing to recover, and only the restart
			// workload recovers with a running one.
			if workload == "task" {
				return p.Path != "load"
			}
			return p.Path == "load" && afterStart(passes, p)
		})
		first := in(heads(crashes))
		for _, p := range crashes {
			head := first(p) && (p.Moment == plan.AtMethod || statements(crashes, p) >= fewStatements)
			if head || slices.Contains(plan.ForksAndDeletes, p.Point.What) {
				firsts = append(firsts, plan.Single(p, "crash", workload))
			}
		}
	}
	return firsts, nil
}

// afterStart reports whether a hit follows the start of a container.
func afterStart(passes []plan.Pass, p plan.Pass) bool {
	started := slices.IndexFunc(passes, func(o plan.Pass) bool { return o.Path == "start" })
	return started >= 0 && slices.Index(passes, p) > started
}

// recovers reports whether a hit is part of containerd's own recovery, and not of every
// start.
func recovers(p plan.Pass) bool {
	return p.Point.Who == "containerd" && !boots(p) && p.Takes("crash")
}

// cover chooses the fewest first crashes, greedily, whose hits have every point of all;
// the ones that add most come first.
func cover(all []after, counts func(plan.Pass) bool) []after {
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

// pairUp makes the cases: each point on each path after at most that many of the first
// faults that lead to it. A first fault that was not reached again is planned alone, for
// the report.
func pairUp(all []after, action string, keep func(plan.Pass) bool, most func(plan.Pass) int) []plan.Spec {
	count := map[spot]int{}
	var out []plan.Spec
	for _, a := range all {
		if slices.ContainsFunc(a.later, func(run []plan.Pass) bool { return run == nil }) {
			out = append(out, a.first)
			continue
		}
		always := in(common(a.later))
		for _, p := range firstOfEach(a.later[0], action, keep) {
			at := spotOf(p)
			if count[at]++; count[at] > most(p) {
				continue
			}
			s := a.first.Then(p, action)
			s.Unsteady = !always(p)
			out = append(out, s)
		}
	}
	return out
}
