package pairs

import (
	"slices"

	"github.com/shimquake/shimquake/failpoints"
	"github.com/shimquake/shimquake/sweep/plan"
)

// maxFirsts is the largest number of first crashes. At each point of a recovery,
// containerd crashes again after a few of the first crashes. These are perLoadPoint at
// points on the path `load`, and perPoint at points that containerd reaches while the
// client continues.
const (
	maxFirsts    = 12
	perLoadPoint = 3
	perPoint     = 1
)

// fewStatements is the smallest number of hits of a function whose first statement
// becomes a first crash. Smaller functions are skipped, because they only look up data.
const fewStatements = 4

// statements returns the number of hits in the function of one hit, on the path of that
// hit.
func statements(passes []plan.Hit, of plan.Hit) int {
	n := 0
	for _, p := range passes {
		if p.Point.Who == of.Point.Who && p.Point.What == of.Point.What && p.Path == of.Path {
			n++
		}
	}
	return n
}

// recovery plans crashes of containerd while it recovers from a crash. From firstCrashes
// it takes as few crashes as are needed to reach every point of any recovery, and at most
// maxFirsts. Then it plans a second crash at each point, after the first few of them
// that lead to the point.
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
	again, err := w.follow(firsts, runs-1) // the further runs show which hits every run has
	if err != nil {
		return nil, err
	}
	for i := range chosen {
		chosen[i].later = append(chosen[i].later, again[i].later...)
	}
	return pairUp(chosen, "crash", recovers, func(p plan.Hit) int {
		if p.Path == "load" {
			return perLoadPoint
		}
		return perPoint
	}), nil
}

// firstCrashes returns crashes of containerd at all ttrpc methods and at the first
// statements of all larger functions. It adds all statements of the functions that fork
// shims and delete bundles.
func (w *pairing) firstCrashes() ([]plan.Spec, error) {
	var firsts []plan.Spec
	for _, workload := range []string{"task", "restart"} {
		passes, err := w.faultless(workload)
		if err != nil {
			return nil, err
		}
		crashes := firstOfEach(passes, "crash", func(p plan.Hit) bool {
			if boots(p) || p.Point.Who != "containerd" {
				return false
			}
			// When containerd starts in `task`, it has no containers to recover, so
			// crashes on the path `load` are omitted. `restart` adds the crashes during a
			// load with a running container.
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
func afterStart(passes []plan.Hit, p plan.Hit) bool {
	started := slices.IndexFunc(passes, func(o plan.Hit) bool { return o.Path == "start" })
	return started >= 0 && slices.Index(passes, p) > started
}

// recovers reports whether a hit is part of containerd's own recovery, and not of every
// start.
func recovers(p plan.Hit) bool {
	return p.Point.Who == "containerd" && !boots(p) && p.Takes("crash")
}

// cover chooses few first crashes whose hits together have every point that any of them
// reaches. It takes the one that adds most points, again and again (a greedy set cover).
func cover(all []after, counts func(plan.Hit) bool) []after {
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
	for len(chosen) < maxFirsts {
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

// pairUp makes the cases. It plans a fault at each point on each path, after at most
// `most` of the first faults whose runs all lead there. A first fault that a further run
// did not reach is planned alone, so that the report shows it.
func pairUp(all []after, action string, keep func(plan.Hit) bool, most func(plan.Hit) int) []plan.Spec {
	count := map[spot]int{}
	var out []plan.Spec
	for _, a := range all {
		if slices.ContainsFunc(a.later, func(run []plan.Hit) bool { return run == nil }) {
			out = append(out, a.first)
			continue
		}
		for _, p := range firstOfEach(plan.Common(a.later), action, keep) {
			if count[spotOf(p)]++; count[spotOf(p)] <= most(p) {
				out = append(out, a.first.Then(p, action))
			}
		}
	}
	return out
}
