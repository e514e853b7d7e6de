package sweep

import (
	"slices"
	"strings"
)

// cleansUp are functions of containerd in which each statement matters when a shim is dead.
var cleansUp = []string{"runtime.cleanupAfterDeadShim", "runtime.binary.Delete", "runtime.Bundle.Delete", "runtime.atomicDelete", "runtime.shimTask.delete", "runtime.shim.Delete"}

// dies are the methods at which the first of the two dies.
var dies = []string{"Task.Create", "Task.Start", "Task.Delete", "Task.Shutdown"}

// perShimPoint is after how many first crashes each point is crashed.
const perShimPoint = 3

// shim crashes containerd and the shim, in either order. The first dies at the entry or exit of dies; then the other at each method, and at the head of
// each function, that it passes afterwards, and containerd at each statement of its clean-up of a dead shim.
func (w *pairing) shim() ([]Spec, error) {
	passes, _, err := w.plain("task")
	if err != nil {
		return nil, err
	}
	var out []Spec
	for _, who := range []string{"containerd", "shim"} {
		var firsts []Spec
		for _, p := range firstOfEach(passes, "crash", func(p Pass) bool {
			return p.Moment == atMethod && p.Point.Who == who && slices.Contains(dies, p.Point.What)
		}) {
			firsts = append(firsts, single(p, "crash", "task"))
		}
		traced, err := w.follow(firsts, pairRuns)
		if err != nil {
			return nil, err
		}
		out = append(out, pairUp(traced, "crash", func(p Pass) bool { return p.Point.Who != who && !boots(p) && w.matters(traced, p) },
			func(Pass) int { return perShimPoint })...)
	}
	return out, nil
}

// matters says whether the second crash of a shim pair is made at a pass.
func (w *pairing) matters(all []after, p Pass) bool {
	if p.Moment == atMethod || slices.Contains(cleansUp, p.Point.What) {
		return true
	}
	return slices.ContainsFunc(all, func(a after) bool {
		return slices.ContainsFunc(heads(a.later[0]), func(h Pass) bool { return h.Point == p.Point && h.Path == p.Path })
	})
}

// boots says whether containerd passes a point at every start, whatever it has to recover.
func boots(p Pass) bool {
	function := p.Point.What[strings.LastIndex(p.Point.What, ".")+1:]
	return p.Path == "load" && slices.Contains([]string{"init", "initFunc", "Register", "NewShimManager", "defaultPlatforms", "emitPlatformWarnings"}, function)
}
