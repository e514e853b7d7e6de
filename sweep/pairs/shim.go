package pairs

import (
	"slices"

	"github.com/shimquake/shimquake/sweep/plan"
)

// perShimPoint is the number of first crashes after which each point is crashed.
const perShimPoint = 3

// shim plans crashes of containerd and of the shim, in either order. The first process
// crashes at the entry or exit of the methods in plan.Dies. The other one then crashes at
// each later method and at the first statement of each later function. containerd also
// crashes at each statement of its cleanup after a dead shim.
func (w *pairing) shim() ([]plan.Spec, error) {
	passes, err := w.faultless("task")
	if err != nil {
		return nil, err
	}
	var out []plan.Spec
	for _, who := range []string{"containerd", "shim"} {
		var firsts []plan.Spec
		for _, p := range firstOfEach(passes, "crash", func(p plan.Hit) bool {
			return p.Moment == plan.AtMethod && p.Point.Who == who && slices.Contains(plan.Dies, p.Point.What)
		}) {
			firsts = append(firsts, plan.Single(p, "crash", "task"))
		}
		traced, err := w.follow(firsts, runs)
		if err != nil {
			return nil, err
		}
		second := func(p plan.Hit) bool { return p.Point.Who != who && !boots(p) && matters(traced, p) }
		out = append(out, pairUp(traced, "crash", second, func(plan.Hit) int { return perShimPoint })...)
	}
	return out, nil
}

// matters reports whether shim plans a second crash at a hit.
func matters(all []after, p plan.Hit) bool {
	if p.Moment == plan.AtMethod || slices.Contains(plan.CleansUp, p.Point.What) {
		return true
	}
	return slices.ContainsFunc(all, func(a after) bool {
		return slices.ContainsFunc(heads(a.later[0]), func(h plan.Hit) bool { return spotOf(h) == spotOf(p) })
	})
}
