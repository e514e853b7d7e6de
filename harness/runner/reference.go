package runner

import (
	"sync"

	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/harness/judge"
)

// reference is a workload of a kind on the default release without a fault, run once for
// a runner.
type reference struct {
	once sync.Once
	harness.Reference
}

// refer has the default release run the workload, where something has failed that no
// fault explains: a containerd that is broken is told from a machine that cannot run it.
func (x *run) refer() {
	h := x.history()
	if x.isReference || x.ctx.Err() != nil || !judge.Unexplained(h) {
		return
	}
	r := x.runner.reference(x.Workload.API, x.Workload.Grouped)
	r.once.Do(func() {
		x.record.Note("harness", "the default release runs the workload without a fault")
		y := x.runner.begin(x.ctx, harness.Case{Name: "reference", Workload: harness.Workload{
			API: x.Workload.API, Grouped: x.Workload.Grouped, Containers: []harness.Container{{Exit: 7}, {Signal: "SIGTERM"}},
		}}, false)
		y.isReference = true
		y.observe()
		v := judge.Judge(y.close())
		r.Reference = harness.Reference{Version: v.Version, Outcome: v.Outcome, Why: v.Why()}
	})
	x.record.Set(func(h *harness.History) { h.Reference = &r.Reference })
}

// reference is the one of a kind of workload.
func (r *Runner) reference(api harness.API, grouped bool) *reference {
	kind := string(api)
	if grouped {
		kind += " grouped"
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.references[kind] == nil {
		if r.references == nil {
			r.references = map[string]*reference{}
		}
		r.references[kind] = &reference{}
	}
	return r.references[kind]
}
