package runner

import (
	"sync"

	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/harness/judge"
)

// reference is the result of a workload without faults on the default release. A runner
// keeps one for each workload, and another with the second use of the first id.
type reference struct {
	mu     sync.Mutex
	known  *harness.Reference // nil until a run has a result
	failed bool               // set if the last run did not hold
}

// refer runs the workload without faults on the default release, if the case failed and
// neither a fault nor a stall explains that. If this run fails, too, the machine cannot
// run the workload. If it holds, the containerd under test is broken.
func (x *run) refer() {
	h := x.history()
	if x.isReference || x.ctx.Err() != nil || !judge.Unexplained(h) || judge.StoodStill(h) > 0 {
		return
	}
	c := harness.Case{Name: "reference", Workload: x.Case.Workload}
	if c.Workload.Fakeshim != "" {
		c.Workload.Fakeshim = "plain"
	}
	t := tried{c.String(), judge.ReuseFailed(h)}
	known := x.runner.reference(t).run(x, c, t.again)
	x.record.Set(func(h *harness.History) { h.Reference = known })
}

// tried is the key of a reference run: the text of its case, and whether it uses the
// first id again.
type tried struct {
	text  string
	again bool
}

// run returns the result of the reference. It returns nil if x is interrupted meanwhile,
// or if the machine stands still.
func (r *reference) run(x *run, c harness.Case, again bool) *harness.Reference {
	x.runner.yield(r.mu.Lock) // the run that holds the lock may need this run's slot
	defer r.mu.Unlock()
	if r.known != nil {
		return r.known
	}
	x.record.Note("harness", "runs the workload on the default release without a fault")
	y := x.runner.begin(x.ctx, c, false)
	y.isReference, y.usesAgain = true, again
	y.observe()
	v := y.close()
	if x.ctx.Err() != nil || v.HasProblem(harness.ByStall) {
		return nil
	}
	now := &harness.Reference{Version: v.Version, Outcome: v.Outcome, Why: v.ProblemsText()}
	if now.Outcome == harness.Held || r.failed { // after a single failure, which may be chance, the next case tries again
		r.known = now
	}
	r.failed = now.Outcome != harness.Held
	return now
}

// reference returns the reference for t.
func (r *Runner) reference(t tried) *reference {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.references == nil {
		r.references = map[tried]*reference{}
	}
	if r.references[t] == nil {
		r.references[t] = &reference{}
	}
	return r.references[t]
}
