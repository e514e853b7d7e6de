package sweep

import (
	"slices"
	"strings"

	"github.com/shimquake/shimquake/failpoints"
)

// held is how long a call is held, in a step, while the client comes back: long enough for it to be in the midst of the same call.
const held = "wait 100ms"

// retried are the functions in whose statements a client cancels and comes back: those that carry out a create or a delete, on both sides.
var retried = []string{
	"tasks.local.Create", "tasks.local.Delete", "runtime.TaskManager.Create", "runtime.TaskManager.Delete", "runtime.shimTask.Create", "runtime.shimTask.delete",
	"runc-task.service.Create", "runc-task.service.Delete",
}

// retry has the client cancel its call and come back at once: at each method of ttrpc, and at each statement that carries out a create or delete. At
// methods also with the call held until the client is back.
func (w *pairing) retry() ([]Spec, error) {
	passes, steady, err := w.plain("task")
	if err != nil {
		return nil, err
	}
	var out []Spec
	for _, p := range firstOfEach(passes, "pause", func(p Pass) bool {
		return p.Path != "load" && (p.Moment == atMethod && !strings.HasPrefix(p.Point.What, "Events.") || slices.Contains(retried, p.Point.What))
	}) {
		s := single(p, "pause", "task")
		s.Unsteady = !steady(p)
		out = append(out, s)
		if p.Moment == atMethod {
			s.While = "cancel client,await client," + held + ",release"
			out = append(out, s)
		}
	}
	return out, nil
}

// deleters has two clients delete at once. The one that comes first, and at methods also the second, is held at each statement and method that a
// delete passes, until the call of the client that goes on is done; or until that client's patience has ended, where the held one has a lock. What is
// passed after the last answer of the shim, or by its helpers, is in nobody's call: there is nobody to hold.
func (w *pairing) deleters() ([]Spec, error) {
	passes, steady, err := w.plain("deleters")
	if err != nil {
		return nil, err
	}
	answered := 0
	for i, p := range passes {
		if steady(p) && p.Point.Kind == failpoints.RPC && p.Point.Who == "containerd" && !strings.HasPrefix(p.Point.What, "Events.") {
			answered = i
		}
	}
	seen := map[string]int{}
	var out []Spec
	for i, p := range passes {
		if p.Path != "delete" || steady(p) && i > answered || !p.decides("pause") || ofNoCall(p) {
			continue
		}
		key := p.Point.String()
		seen[key]++
		if n := seen[key]; n == 1 || n == 2 && p.Moment == atMethod {
			s := single(p, "pause", "deleters")
			s.Unsteady = !steady(p)
			s.While = "await client,release"
			out = append(out, s)
		}
	}
	return out, nil
}

// ofNoCall says whether a pass is of a process's own work, and of no call: events, and what a shim's main function and its helpers do.
func ofNoCall(p Pass) bool {
	own := []string{"Events."}
	if p.Point.Who == "shim" {
		own = append(own, "shim.", "runc-manager.", "runc.Read", "process.NewRunc")
	}
	return slices.ContainsFunc(own, func(prefix string) bool { return strings.HasPrefix(p.Point.What, prefix) })
}
