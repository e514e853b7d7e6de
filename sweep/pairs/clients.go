package pairs

import (
	"slices"

	"github.com/shimquake/shimquake/failpoints"
	"github.com/shimquake/shimquake/sweep/plan"
)

// heldWhileBack are the steps while a call is held. The client cancels the call, and
// retries by itself when the call has returned. During the sleep the retry can reach the
// same method.
const heldWhileBack = "cancel call,await call,sleep 100ms,release"

// isEvents reports whether a hit is in containerd's Events service, to which shims
// forward events.
func isEvents(p plan.Hit) bool { return p.Point.Service() == "Events" }

// retry plans cases in which the client cancels its call and retries immediately. Each
// ttrpc method has such a case, and each statement in plan.Retried. In a second case of a
// method, the call is held until the retry is in progress.
func (w *pairing) retry() ([]plan.Spec, error) {
	passes, err := w.faultless("task")
	if err != nil {
		return nil, err
	}
	var out []plan.Spec
	for _, p := range firstOfEach(passes, "pause", func(p plan.Hit) bool {
		method := p.Moment == plan.AtMethod && !isEvents(p)
		return p.Path != "load" && (method || slices.Contains(plan.Retried, p.Point.What))
	}) {
		out = append(out, held(p, "task", ""))
		if p.Moment == plan.AtMethod {
			out = append(out, held(p, "task", heldWhileBack))
		}
	}
	return out, nil
}

// held returns a case in which a hit waits while these steps run.
func held(p plan.Hit, workload, steps string) plan.Spec {
	s := plan.Single(p, "pause", workload)
	s.Faults[0].Meanwhile = steps
	return s
}

// concurrentDeletes plans cases in which two clients delete concurrently. The first
// client's delete is held at each statement and method. For methods there is a second
// case, in which only the second client's delete is held.
//
// A delete is held until the other client's call has returned. If the held delete owns
// a lock that the other one needs, the other call returns when it times out. Hits after
// the shim's last response, or in its helpers, belong to no call, so they are not held.
func (w *pairing) concurrentDeletes() ([]plan.Spec, error) {
	passes, err := w.faultless("deleters")
	if err != nil {
		return nil, err
	}
	answered := 0
	for i, p := range passes {
		if p.Point.Kind == failpoints.RPC && p.Point.Who == "containerd" && !isEvents(p) {
			answered = i
		}
	}
	seen := map[failpoints.Point]int{}
	var out []plan.Spec
	for i, p := range passes {
		if p.Path != "delete" || i > answered || !p.Takes("pause") || ofNoCall(p) {
			continue
		}
		seen[p.Point]++
		if n := seen[p.Point]; n == 1 || n == 2 && p.Moment == plan.AtMethod {
			out = append(out, held(p, "deleters", "await call,release"))
		}
	}
	return out, nil
}

// ofNoCall reports whether a hit is outside every client's call: it forwards an event, or
// is a shim's own work.
func ofNoCall(p plan.Hit) bool {
	return isEvents(p) || p.IsOwnWork()
}
