package runner

import (
	"fmt"
	"sync"
	"time"

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
// no fault explains that. If this run fails, too, the machine cannot run the workload. If
// it holds, the containerd under test is broken.
func (x *run) refer() {
	h := x.history()
	if x.isReference || x.ctx.Err() != nil || !judge.Unexplained(h) {
		return
	}
	c := harness.Case{Name: "reference", Workload: x.Case.Workload}
	if c.Workload.Fakeshim != "" {
		c.Workload.Fakeshim = "plain"
	}
	t := tried{c.String(), judge.ReuseFailed(h)}
	known := x.runner.reference(t).run(x, c, t.again, judge.TimedOut(h))
	x.record.Set(func(h *harness.History) { h.Reference = known })
}

// tried is the key of a reference run: the text of its case, and whether it uses the
// first id again.
type tried struct {
	text  string
	again bool
}

// run returns the result of the reference, or nil if x is interrupted meanwhile. It runs
// the reference again if the case had a timeout, because the machine may have become too
// busy since.
func (r *reference) run(x *run, c harness.Case, again, outOfTime bool) *harness.Reference {
	x.yield(r.mu.Lock) // the run that holds the lock may need this run's slot
	defer r.mu.Unlock()
	if r.known != nil && !outOfTime {
		return r.known
	}
	x.record.Note("harness", "runs the workload on the default release without a fault")
	y := x.runner.begin(x.ctx, c, false)
	y.isReference, y.usesAgain = true, again
	y.observe()
	v := y.close()
	if x.ctx.Err() != nil {
		return nil
	}
	now := &harness.Reference{Version: v.Version, Outcome: v.Outcome, Why: v.ProblemsText()}
	if outOfTime {
		return inTime(now, v.History.Calls, y.Workload)
	}
	if now.Outcome == harness.Held || r.failed { // after a single failure, which may be chance, the next case tries again
		r.known = now
	}
	r.failed = now.Outcome != harness.Held
	return now
}

// inTime returns the result of a reference for a case with a timeout. A reference that
// held within a quarter of each timeout shows that the machine is fast enough. If a call,
// or all calls together, took longer, the machine is too busy, and the reference is
// invalid.
func inTime(r *harness.Reference, calls []harness.Call, w harness.Workload) *harness.Reference {
	var slowest harness.Call
	var all time.Duration
	for _, c := range calls {
		if c.Verb == "wait" { // the call lasts as long as the container
			continue
		}
		if c.Verb == "ExecSync" { // the response of a long exec comes after the soak steps
			c.Took = max(0, c.Took-w.Soaks())
		}
		c.Took = max(0, c.Took-w.Drains(c))
		if c.Took > slowest.Took {
			slowest = c
		}
		if c.Who == "client" {
			all += c.Took
		}
	}
	busy := func(what string, took, limit time.Duration) {
		r.Outcome = harness.Invalid
		r.Why = fmt.Sprintf("it held, but %s took %s of the timeout of %s: this machine is too busy to decide",
			what, took.Round(time.Millisecond), limit)
	}
	switch {
	case r.Outcome != harness.Held:
	case slowest.Took > w.CallTimeout/4:
		busy(slowest.Verb, slowest.Took, w.CallTimeout)
	case all > w.TimeLimit/4:
		busy("all its calls", all, w.TimeLimit)
	}
	return r
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
