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
	// isReference is set of a run that shows whether the machine can run a workload.
	// usesAgain is set of one that uses the first id again, because that has failed.
	isReference, usesAgain bool
	record                 record.Recorder
	subject                *subject
	// installed are the containerds that the workload installs, by their names.
	installed map[string]*subject
	world     *world.World
	daemon    *daemon.Daemon
	session   *client.Session
	client    client.Client
	inject    *inject.Injector
	events    event.Log
	// criEvents are CRI's container events, of a case whose client uses CRI.
	criEvents criview.Log
	// criSecond are the same, as another is told them beside, see hearCRI.
	criSecond criview.Log
	removed   chan struct{} // closed when the client is done
	// unwatch ends the watch over this program, its machine and the world, which is watched
	// as soon as it stands.
	unwatch func()
	watched atomic.Pointer[world.World]

	bystanders atomic.Pointer[bystander.Group] // nil where the case has none; faults ask for it, too
	// found is the verdict on what the look has seen, before the first id is used again. It
	// decides how the run goes on; the verdict of the case is made once, when the run is
	// over.
	found harness.Verdict
	dumps map[string][]byte // files for people, of a case that is violated
}

// begin is a run that has not done anything yet.
func (r *Runner) begin(ctx context.Context, c harness.Case, trace bool) *run {
	x := &run{ctx: ctx, runner: r, Case: c, trace: trace, begun: time.Now(), removed: make(chan struct{})}
	x.Workload = c.Workload.WithDefaults()
	x.record.Set(func(h *harness.History) { h.Case, h.Began, h.Machine = c, x.begun, ThisMachine() })
	x.unwatch = watchMachine(func(err error) { x.record.Problem(harness.ByHarness, err) }, func() error {
		if w := x.watched.Load(); w != nil {
			return w.Frozen()
		}
		return nil
	})
	return x
}

// observe goes through the stages of a run, and ends at the first that shows that the
// rest would show nothing.
func (x *run) observe() {
	for _, stage := range []struct {
		reaches harness.Stage
		do      func() error
		kind    harness.ProblemKind // of its error
	}{
		{harness.Prepared, x.prepare, harness.ByHarness},
		{harness.Booted, x.boot, harness.ByHarness},
		{harness.Underway, x.takeBaseline, harness.ByHarness},
		{harness.Underway, x.startBystanders, harness.ByHarness},
		{harness.Removed, x.runWorkload, harness.ByHarness},
		{harness.LookedAt, x.look, harness.ByLook},
		{harness.Completed, x.useAgain, harness.ByLook},
	} {
		if err := stage.do(); err != nil {
			x.record.Problem(kindOf(err, stage.kind), errors.Join(err, x.keepBootLog(err)))
			return
		}
		x.record.Set(func(h *harness.History) { h.Reached = stage.reaches })
	}
}

// noteEnd has a run show nothing whose context was over before it was through: from then
// on every call failed for that alone, and none of them is a stage's own error.
func (x *run) noteEnd() {
	if x.ctx.Err() == nil {
		return
	}
	err := ended(x.ctx)
	isTold := func(p harness.Problem) bool { return p.Kind == harness.ByEnd || p.Text == err.Error() }
	if !slices.ContainsFunc(x.record.History().Problems, isTold) {
		x.record.Problem(kindOf(err, harness.ByEnd), err)
	}
}

// prepare builds the subject, and asks whether it and this machine can run the case.
func (x *run) prepare() (err error) {
	if err := x.Check(); err != nil {
		return input(err)
	}
	if x.subject, err = x.runner.prepare(x.ctx, x.Containerd); err != nil {
		return err
	}
	x.record.Set(func(h *harness.History) { h.Version = x.subject.Version })
	steps, _ := x.Workload.Steps() // an error is a problem of the case
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

// has says why no containerd of the case has a point, or nil.
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

// runWorkload lets the client meet the plan, and takes the proof of each fault.
func (x *run) runWorkload() error {
	err := x.client.Run(x.ctx)
	close(x.removed)
	x.inject.Controller.Flush(flushTimeout)
	done, firings, load := time.Now(), x.inject.Finish(), machineLoad()
	x.inject.Controller.Arm(nil)
	x.record.Set(func(h *harness.History) {
		h.Removal, h.Done, h.Firings, h.Load = callerr.Of(err), done, firings, load
	})
	x.record.Problem(harness.ByHarness, x.inject.Controller.Err())
	x.endBystanders()
	if x.ctx.Err() != nil {
		return ended(x.ctx)
	}
	return x.sabotage()
}

// flushTimeout is how long a process that stands still may keep the hits of the others
// from being read.
const flushTimeout = 2 * time.Second

// history is what is known by now.
func (x *run) history() harness.History {
	h := x.record.History()
	if x.inject != nil && x.inject.Controller != nil {
		h.Hits = slices.DeleteFunc(x.inject.Controller.Hits(), // those before its id was known
			func(hit failpoints.Hit) bool { return x.isBystander(hit.ID) })
	}
	if x.daemon != nil {
		h.Deaths = x.daemon.Deaths()
	}
	h.Events, h.Gaps = x.events.Events(), x.events.Gaps()
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

// instances are the containers as their client and their payloads know them by now.
func (x *run) instances() []harness.Instance {
	var out []harness.Instance
	for _, i := range x.client.Instances() {
		own, err := x.session.Payload(i.Name)
		if err != nil && i.ID != "" {
			x.record.Problem(harness.ByTruth, fmt.Errorf("learn how a payload ended: %w", err))
		}
		copied := *i
		copied.Payload, copied.Execs = own, x.execs(i)
		out = append(out, copied)
	}
	return out
}

// execs are those of a container, with their own records.
func (x *run) execs(i *harness.Instance) []harness.Exec {
	out := slices.Clone(i.Execs)
	for n := range out {
		if out[n].Begun.IsZero() {
			continue // it has no record
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

// close judges the run, keeps the evidence of a bad end and ends the world, however far
// it was built. The verdict is made before the world ends, because that removes the logs.
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
		if v.History.Reached != harness.Prepared { // its boot has reported a full disk
			err = errors.Join(err, x.world.Room())
		}
		err = errors.Join(err, x.world.Limited(), x.closeWorld())
	}
	v = x.withProblem(v, err)
	v.SetCost(time.Since(v.History.Began), cpu, dir)
	return x.withProblem(v, keepHistory(v))
}

// withProblem judges a run again that has failed after its verdict was made. A nil error
// leaves the verdict as it is.
func (x *run) withProblem(v harness.Verdict, err error) harness.Verdict {
	if err == nil {
		return v
	}
	h := *v.History
	h.Problems = append(h.Problems, harness.Problem{Kind: harness.ByHarness, Text: err.Error()})
	return x.runner.verdict(h)
}

// closeWorld ends the world. Its processes are the controller's clients.
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
