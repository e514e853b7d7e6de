package runner

import (
	"fmt"
	"sync"
	"time"

	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/harness/judge"
)

// reference is a workload on the default release without a fault, run once for a runner,
// and once more for the second use of its first id.
type reference struct {
	mu     sync.Mutex
	known  *harness.Reference // nil until it was run to its end
	failed bool               // the last run of it did not hold
}

// refer has the default release run the workload, where something has failed that no
// fault explains: a containerd that is broken is told apart from a machine that cannot
// run it.
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
	known := x.runner.reference(t).run(x, c, t.again, judge.OutOfTime(h))
	x.record.Set(func(h *harness.History) { h.Reference = known })
}

// tried is what a reference run tries: a case, by its text, and whether its first id can
// be used again.
type tried struct {
	text  string
	again bool
}

// run is what it shows; nil where the run that asks is ended meanwhile. Whether there is
// time enough is asked anew: a machine that could run it may be too busy now.
func (r *reference) run(x *run, c harness.Case, again, outOfTime bool) *harness.Reference {
	x.yield(r.mu.Lock) // who has it runs a case, and may wait for a slot: this one's
	defer r.mu.Unlock()
	if r.known != nil && !outOfTime {
		return r.known
	}
	x.record.Note("harness", "the default release runs the workload without a fault")
	y := x.runner.begin(x.ctx, c, false)
	y.isReference, y.usesAgain = true, again
	y.observe()
	v := y.close()
	if x.ctx.Err() != nil {
		return nil
	}
	now := &harness.Reference{Version: v.Version, Outcome: v.Outcome, Why: v.Why()}
	if outOfTime {
		return inTime(now, v.History.Calls, y.Workload)
	}
	if now.Outcome == harness.Held || r.failed { // one failure may be bad luck: the next case asks again
		r.known = now
	}
	r.failed = now.Outcome != harness.Held
	return now
}

// inTime says what a reference shows where time was wanting. One that held with most of
// its time gone, of a call or of all together, had luck, and shows nothing: the machine
// is too busy to tell.
func inTime(r *harness.Reference, calls []harness.Call, w harness.Workload) *harness.Reference {
	var slowest harness.Call
	var all time.Duration
	for _, c := range calls {
		if c.Verb == "wait" { // a container may take its time
			continue
		}
		if c.Verb == "ExecSync" { // that of one that is held is answered when the rest is over
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
		r.Why = fmt.Sprintf("it held, but %s took %s of the %s that the client gives it: this machine is too busy to tell",
			what, took.Round(time.Millisecond), limit)
	}
	switch {
	case r.Outcome != harness.Held:
	case slowest.Took > w.CallTimeout/4:
		busy(slowest.Verb, slowest.Took, w.CallTimeout)
	case all > w.Deadline/4:
		busy("all its calls", all, w.Deadline)
	}
	return r
}

// reference is the one that tries that.
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
