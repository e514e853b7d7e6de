package runner

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/shimquake/shimquake/failpoints"
	"github.com/shimquake/shimquake/fixtures/containerd/daemon"
	"github.com/shimquake/shimquake/fixtures/world"
	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/harness/client"
	"github.com/shimquake/shimquake/harness/client/bystander"
	"github.com/shimquake/shimquake/harness/inject"
	"github.com/shimquake/shimquake/harness/judge"
	"github.com/shimquake/shimquake/harness/record"
	"github.com/shimquake/shimquake/oracle/callerr"
	"github.com/shimquake/shimquake/oracle/criview"
	"github.com/shimquake/shimquake/oracle/event"
)

// run is one run of a case.
type run struct {
	ctx    context.Context
	runner *Runner
	harness.Case
	trace bool
	begun time.Time
	// isReference is set for a reference run. usesAgain is set if the case failed to use
	// the first container's id a second time. The reference run (the same workload without
	// the fault) then also uses it twice.
	isReference, usesAgain bool
	record                 record.Recorder
	subject                *subject
	// installed has the containerds that the workload installs, by their names in the
	// script.
	installed map[string]*subject
	world     *world.World
	daemon    *daemon.Daemon
	session   *client.Session
	client    client.Client
	inject    *inject.Injector
	events    event.Log
	// criEvents has CRI's container events, in a CRI case.
	criEvents criview.Log
	// criSecond has the events of a second subscriber, see hearCRI.
	criSecond criview.Log
	removed   chan struct{} // closed when the client is done
	// This function ends the check that the harness, the machine and the world (the test
	// node) are not frozen.
	unwatch func()
	watched atomic.Pointer[world.World]

	bystanders atomic.Pointer[bystander.Group] // nil if the case has none
	// found is the preliminary verdict after the stage Inspected. It decides how the run
	// continues. The verdict of the case comes at the end of the run.
	found harness.Verdict
	dumps map[string][]byte // files with stacks, for people who read the evidence
}

// begin returns a new run. It has not done anything yet.
func (r *Runner) begin(ctx context.Context, c harness.Case, trace bool) *run {
	x := &run{ctx: ctx, runner: r, Case: c, trace: trace, begun: time.Now(), removed: make(chan struct{})}
	x.Workload = c.Workload.WithDefaults()
	x.record.Set(func(h *harness.History) { h.Case, h.Began, h.Machine = c, x.begun, ThisMachine() })
	problem := func(err error) { x.record.Problem(harness.ByHarness, err) }
	stalled := func(s harness.Stall) {
		x.record.Set(func(h *harness.History) { h.Stalls = append(h.Stalls, s) })
	}
	tick := max(time.Millisecond, min(clockTick, judge.StallLimit(x.Workload)/2))
	wasFull := false // the disk of worlds, which is reported once
	x.unwatch = watchMachine(tick, problem, stalled, func() time.Duration {
		w := x.watched.Load()
		if w == nil {
			return 0
		}
		if err := w.HasRoom(); err != nil && !wasFull {
			wasFull = true
			problem(fmt.Errorf("during the case: %w", err))
		}
		return w.StoodStill()
	})
	return x
}

// observe goes through the stages of a run. It stops at the first error, because the
// later stages depend on the earlier ones.
func (x *run) observe() {
	for _, stage := range []struct {
		reaches harness.Stage
		do      func() error
		kind    harness.ProblemKind // the kind of problem for its error
	}{
		{harness.Prepared, x.prepare, harness.ByHarness},
		{harness.Booted, x.boot, harness.ByHarness},
		{harness.Underway, x.takeBaseline, harness.ByHarness},
		{harness.Underway, x.startBystanders, harness.ByHarness},
		{harness.Removed, x.runWorkload, harness.ByHarness},
		{harness.Inspected, x.inspect, harness.ByLook},
		{harness.Completed, x.useAgain, harness.ByLook},
	} {
		if err := stage.do(); err != nil {
			x.record.Problem(kindOf(err, stage.kind), errors.Join(err, x.keepBootLog(err)))
			return
		}
		x.record.Set(func(h *harness.History) { h.Reached = stage.reaches })
	}
}

// noteEnd records a problem if the context ended during the run. Otherwise the calls that
// failed for this reason would look like violations.
func (x *run) noteEnd() {
	if x.ctx.Err() == nil {
		return
	}
	err := ended(x.ctx)
	isRecorded := func(p harness.Problem) bool { return p.Kind == harness.ByEnd || p.Text == err.Error() }
	if !slices.ContainsFunc(x.record.History().Problems, isRecorded) {
		x.record.Problem(kindOf(err, harness.ByEnd), err)
	}
}

// prepare builds the containerds of the case. It returns an error if they lack a point of
// the plan, or if the machine cannot run the case.
func (x *run) prepare() (err error) {
	if err := x.Check(); err != nil {
		return input(err)
	}
	if x.subject, err = x.runner.prepare(x.ctx, x.Containerd); err != nil {
		return err
	}
	x.record.Set(func(h *harness.History) { h.Version = x.subject.Version })
	steps, _ := x.Workload.Steps() // Case.Check has returned the error before
	x.installed = map[string]*subject{}
	for _, name := range steps.Installed() {
		if x.installed[name], err = x.runner.prepare(x.ctx, name); err != nil {
			return err
		}
	}
	for _, f := range x.Plan {
		if err := x.has(f.At); err != nil {
			return input(err)
		}
	}
	return checkRequirements(x.Case)
}

// has returns an error if no containerd of the case has the point.
func (x *run) has(p failpoints.Point) error {
	err := x.subject.Has(p)
	for _, s := range x.installed {
		if err == nil {
			break
		}
		err = s.Has(p)
	}
	return err
}

// runWorkload runs the client, and then records the proof of each fault of the plan.
func (x *run) runWorkload() error {
	err := x.client.Run(x.ctx)
	close(x.removed)
	x.inject.Controller.Flush(flushTimeout)
	done, firings := time.Now(), x.inject.Finish()
	x.inject.Controller.Disarm()
	x.record.Set(func(h *harness.History) {
		h.Removal, h.Done, h.Firings = callerr.Of(err), done, firings
	})
	x.record.Problem(harness.ByHarness, x.inject.Controller.Err())
	x.endBystanders()
	if x.ctx.Err() != nil {
		return ended(x.ctx)
	}
	return x.sabotage()
}

// flushTimeout is how long the harness waits for the hits that probes have sent. A frozen
// process may delay them.
const flushTimeout = 2 * time.Second

// history returns the history so far.
func (x *run) history() harness.History {
	h := x.record.History()
	if x.inject != nil && x.inject.Controller != nil {
		h.Hits = slices.DeleteFunc(x.inject.Controller.Hits(), // drop a bystander's hits from before its id was known
			func(hit failpoints.Hit) bool { return x.isBystander(hit.ID) })
		h.Functions = x.inject.Controller.Met()
	}
	if x.daemon != nil {
		h.Deaths = x.daemon.Deaths()
	}
	h.Events, h.Gaps = x.events.Events(), x.events.Gaps()
	if h.CRI != nil && h.Flushed == nil {
		x.hearInto(h.CRI)
	}
	if x.world != nil {
		for _, e := range x.world.Exits() {
			h.Exits = append(h.Exits, harness.Exit{PID: e.PID, Code: e.Code(), At: e.At})
		}
	}
	if h.Instances == nil && x.client != nil {
		h.Instances = x.instances()
	}
	return h
}

// instances returns the containers, with their payloads' records so far.
func (x *run) instances() []harness.Instance {
	var out []harness.Instance
	for _, i := range x.client.Instances() {
		own, err := x.session.Payload(i.Name)
		if err != nil && i.ID != "" {
			x.record.Problem(harness.ByTruth, fmt.Errorf("read how a payload ended: %w", err))
		}
		copied := *i
		copied.Payload, copied.Execs = own, x.execs(i)
		out = append(out, copied)
	}
	return out
}

// execs returns the execs of a container. It adds what each exec process recorded about
// itself.
func (x *run) execs(i *harness.Instance) []harness.Exec {
	out := slices.Clone(i.Execs)
	for n := range out {
		if out[n].Begun.IsZero() {
			continue // the exec has no record
		}
		if out[n].Sync != nil {
			client.LearnExec(&out[n], i.ID, x.events.Events())
		}
		own, err := x.session.Payload(i.Record(out[n]))
		x.record.Problem(harness.ByTruth, err)
		out[n].Payload = own
	}
	return out
}

// close judges the run, keeps the evidence and removes the world: its processes, mounts
// and folders. It also works after a failed boot. The verdict comes first, because it
// decides whether the logs are kept, and the end of the world removes them.
func (x *run) close() harness.Verdict {
	x.unwatch()
	v := x.runner.verdict(x.history())
	dir, err := x.keepLogs(v)
	if x.inject != nil {
		err = errors.Join(err, x.inject.Undo())
	}
	var cpu time.Duration
	if x.world != nil {
		cpu = x.world.CPU()
		if v.History.Reached != harness.Prepared { // a failed boot reports a full disk itself
			err = errors.Join(err, x.world.Room())
		}
		err = errors.Join(err, x.world.Limited(), x.closeWorld())
	}
	v = x.withProblem(v, err)
	v.SetCost(time.Since(v.History.Began), cpu, dir)
	return x.withProblem(v, keepHistory(v))
}

// withProblem adds an error to the problems of the history, and judges it again. A nil
// error changes nothing.
func (x *run) withProblem(v harness.Verdict, err error) harness.Verdict {
	if err == nil {
		return v
	}
	h := *v.History
	h.Problems = append(h.Problems, harness.Problem{Kind: harness.ByHarness, Text: err.Error()})
	return x.runner.verdict(h)
}

// closeWorld ends the world, and then the controller of the faults, because probes in the
// world's processes use the controller.
func (x *run) closeWorld() error {
	if x.daemon != nil {
		x.daemon.Close()
	}
	err := x.world.Close()
	if x.inject != nil && x.inject.Controller != nil {
		err = errors.Join(err, x.inject.Controller.Close())
	}
	return err
}
