package pairs

import (
	"slices"
	"strings"

	"github.com/shimquake/shimquake/failpoints"
	"github.com/shimquake/shimquake/sweep/plan"
)

// heldWhileBack are the steps of a call that is held while the client comes back: long
// enough for it to be in the midst of the same call.
const heldWhileBack = "cancel client,await client,wait 100ms,release"

// isEvents reports whether a pass is of the service that events are forwarded to.
func isEvents(p plan.Pass) bool { return p.Point.Service() == "Events" }

// retry has the client cancel its call and come back immediately: at each method of
// ttrpc, and at each statement that carries out a create or delete. At methods also with
// the call held until the client is back.
func (w *pairing) retry() ([]plan.Spec, error) {
	passes, steady, err := w.faultless("task")
	if err != nil {
		return nil, err
	}
	var out []plan.Spec
	for _, p := range firstOfEach(passes, "pause", func(p plan.Pass) bool {
		method := p.Moment == plan.AtMethod && !isEvents(p)
		return p.Path != "load" && (method || slices.Contains(plan.Retried, p.Point.What))
	}) {
		out = append(out, held(p, "task", "", steady))
		if p.Moment == plan.AtMethod {
			out = append(out, held(p, "task", heldWhileBack, steady))
		}
	}
	return out, nil
}

// held is a case in which a pass is held while these steps run.
func held(p plan.Pass, workload, steps string, steady func(plan.Pass) bool) plan.Spec {
	s := plan.Single(p, "pause", workload)
	s.Faults[0].While = steps
	s.Unsteady = !steady(p)
	return s
}

// deleters has two clients delete concurrently. The one that comes first, and at methods
// also the second, is held at each statement and method that a delete passes.
//
// It is held until the call of the client that goes on is done; or until that client's
// patience has ended, where the held one has a lock. What is passed after the last answer
// of the shim, or by its helpers, is in nobody's call: there is nobody to hold.
func (w *pairing) deleters() ([]plan.Spec, error) {
	passes, steady, err := w.faultless("deleters")
	if err != nil {
		return nil, err
	}
	answered := 0
	for i, p := range passes {
		answer := p.Point.Kind == failpoints.RPC && p.Point.Who == "containerd" && !isEvents(p)
		if answer && steady(p) {
			answered = i
		}
	}
	seen := map[failpoints.Point]int{}
	var out []plan.Spec
	for i, p := range passes {
		if p.Path != "delete" || steady(p) && i > answered || !p.Takes("pause") || ofNoCall(p) {
			continue
		}
		seen[p.Point]++
		if n := seen[p.Point]; n == 1 || n == 2 && p.Moment == plan.AtMethod {
			out = append(out, held(p, "deleters", "await client,release", steady))
		}
	}
	return out, nil
}

// ofNoCall reports whether a pass is of a process's own work, and of no call: events, and
// what a shim's main function and its helpers do.
func ofNoCall(p plan.Pass) bool {
	own := func(prefix string) bool { return strings.HasPrefix(p.Point.What, prefix) }
	return isEvents(p) || p.Point.Who == "shim" && slices.ContainsFunc(plan.OwnWork, own)
}
