// Package inject makes the faults of a case happen, and keeps the proof of each.
//
// A kind of fault is one file with one type, see Fault, and one line in kinds. It breaks
// things and says how that is known; it knows no client and judges nothing.
package inject

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	containerd "github.com/containerd/containerd/v2/client"
	"google.golang.org/grpc"

	"github.com/shimquake/shimquake/failpoints"
	"github.com/shimquake/shimquake/failpoints/iopressure"
	"github.com/shimquake/shimquake/failpoints/probe/term"
	"github.com/shimquake/shimquake/failpoints/slowsys"
	"github.com/shimquake/shimquake/fixtures/containerd/daemon"
	"github.com/shimquake/shimquake/fixtures/world"
	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/harness/record"
	"github.com/shimquake/shimquake/oracle/inventory"
)

// Fault is one fault of a case while it runs.
type Fault interface {
	// Begin makes it happen, or puts it in force, when the workload has come to its state
	// (Point.State); what a probe decides is in force from the start, and its Begin is never
	// called.
	Begin(ctx context.Context) error
	// Proof is called when the client is done: how often it happened, and how that is known.
	Proof(ctx context.Context) (harness.Firing, error)
	// Undo undoes what outlives the case: a throttle, a strace. It is called once, also when
	// Begin was not.
	Undo() error
}

// kind is how the faults of a kind of points are made.
type kind struct {
	make func(*Injector, int) Fault
	// available says why this machine cannot do them, before anything is made, and does is
	// what it cannot do then; nil: every machine can.
	available func() error
	does      string
}

// kinds has a line for each kind of points.
var kinds = map[failpoints.Kind]kind{
	failpoints.RPC:  {make: newProbed},
	failpoints.Stmt: {make: newProbed},
	failpoints.Proc: {make: newSignal},
	failpoints.Sys:  {make: newSlowCall, available: slowsys.Available, does: "delay a system call (sys: faults)"},
	failpoints.IO:   {make: newPressure, available: iopressure.Available, does: "put a disk under pressure (io: faults)"},
}

// Need is something that a kind of faults takes of the machine.
type Need struct {
	What      string // what the machine cannot do without it
	Available func() error
	kind      failpoints.Kind
}

// Wanted reports whether a plan has such faults.
func (n Need) Wanted(plan failpoints.Plan) bool {
	return slices.ContainsFunc(plan, func(f failpoints.Fault) bool { return f.At.Kind == n.kind })
}

// Needs are those of all kinds of faults.
func Needs() (all []Need) {
	for name, k := range kinds {
		if k.available != nil {
			all = append(all, Need{k.does, k.available, name})
		}
	}
	slices.SortFunc(all, func(a, b Need) int { return strings.Compare(string(a.kind), string(b.kind)) })
	return all
}

// Daemon is a containerd that can be ended, stopped and started: a [daemon.Daemon].
type Daemon interface {
	PID() int
	Kill(ctx context.Context) error
	Freeze(ctx context.Context) error
	Thaw(ctx context.Context) error
	// Release lets one that was killed start again; Up waits until it answers.
	Release()
	Up(ctx context.Context) (*containerd.Client, *grpc.ClientConn, error)
}

var _ Daemon = (*daemon.Daemon)(nil)

// Target is what the faults of a case are done to.
type Target struct {
	World *world.World
	// Daemon is the containerd under test, also while it boots for the first time.
	Daemon Daemon
	// Processes lists those of the world.
	Processes func() ([]inventory.Process, error)
	// InitPID is the init process of the first container ("task") or of the sandbox;
	// KnownPID is it where that is known without asking containerd, or 0. Shares reports
	// whether a shim of that id serves the other containers, too.
	InitPID  func(ctx context.Context, who string) (int, error)
	KnownPID func(who string) int
	Shares   func(shim string) bool
	// InFlight is the client's call in flight; done is nil where there is none.
	InFlight func() (cancel func(), done <-chan struct{})
	// Removed is closed when the client is done with everything.
	Removed <-chan struct{}
	// Ask asks for the state of the first container, while a process is held at a point.
	Ask func(ctx context.Context, held string) error
	// Exited waits until the first container's payload has noted its exit.
	Exited func(context.Context) error
}

// Injector makes the faults of one case happen.
type Injector struct {
	Target
	ctx    context.Context
	plan   failpoints.Plan
	record *record.Recorder
	words  []string // misbehaviours of the fake shim
	faults []Fault  // of the plan, and then those of words

	// Controller decides the hits of probes.
	Controller *failpoints.Controller

	mu     sync.Mutex
	counts []int       // how often each fault of the plan was seen to happen
	texts  []string    // the last proof of each
	begun  []time.Time // when each was begun
	force  []bool      // it may happen from now on; whether it has is known later
}

// New prepares the faults of a case. ctx is that of the whole run.
func New(ctx context.Context, c harness.Case, t Target, r *record.Recorder) *Injector {
	n := len(c.Plan)
	in := &Injector{
		Target: t, ctx: ctx, plan: c.Plan, record: r, words: c.Misbehaviours(),
		counts: make([]int, n), texts: make([]string, n), begun: make([]time.Time, n), force: make([]bool, n),
	}
	for i, f := range c.Plan {
		in.faults = append(in.faults, kinds[f.At.Kind].make(in, i))
	}
	for _, word := range in.words {
		in.faults = append(in.faults, &misbehaviour{in: in, word: word})
	}
	return in
}

// Listen lets probes ask what to do, on a unix socket.
func (in *Injector) Listen(socket string) (err error) {
	in.Controller, err = failpoints.Listen(socket, in.plan, in.onPause)
	return err
}

// At makes the faults of a state happen, in the order of the plan. It returns when they
// have. A containerd that is killed stays down until the last of them, so that a plan
// which kills containerd and then the shim has the shim die while containerd is down.
func (in *Injector) At(ctx context.Context, state string) {
	in.record.Note("client", "state %s", state)
	down := false
	for i, f := range in.plan {
		if f.At.State() != state {
			continue
		}
		in.mu.Lock()
		in.begun[i] = time.Now() // before it does: what fails from then on may be its doing
		in.mu.Unlock()
		if err := in.faults[i].Begin(ctx); err != nil {
			in.failed(f, err)
		}
		down = down || takesDown(f)
	}
	if down {
		in.Daemon.Release()
	}
}

// takesDown reports whether a fault leaves containerd down.
func takesDown(f failpoints.Fault) bool {
	switch f.At.Who {
	case "containerd":
		return f.Do.At(1).Action == term.Kill
	case "node":
		return f.Do.At(1).Action != term.Stop
	}
	return false
}

// Finish waits for steps under way and takes the proof of each fault.
func (in *Injector) Finish() []harness.Firing {
	in.Controller.AwaitPauses()
	firings := make([]harness.Firing, len(in.faults))
	for i, fault := range in.faults {
		f, err := fault.Proof(in.ctx)
		in.record.Problem(harness.ByStep, err)
		f.Fault = -1
		if i < len(in.plan) {
			f.Fault, f.Text = i, in.plan[i].String()
		}
		if f.Count == 0 && f.Proof == "" {
			f.Proof = harness.DidNotFire
		}
		firings[i] = f
	}
	return firings
}

// AnyFired reports whether any fault has happened yet, or may have.
func (in *Injector) AnyFired() bool {
	for i := range in.plan {
		if in.happened(i) {
			return true
		}
	}
	for _, f := range in.faults[len(in.plan):] {
		if proof, err := f.Proof(in.ctx); err == nil && proof.Count > 0 {
			return true
		}
	}
	return false
}

// AllFired reports whether each fault of the plan has happened, or may have.
func (in *Injector) AllFired() bool {
	for i := range in.plan {
		if !in.happened(i) {
			return false
		}
	}
	return true
}

// happened reports whether the i-th fault of the plan has happened, or may have.
func (in *Injector) happened(i int) bool {
	in.mu.Lock()
	seen := in.counts[i] > 0 || in.force[i]
	in.mu.Unlock()
	return seen || in.Controller.Fired(i) > 0
}

// Undo undoes what outlives the case.
func (in *Injector) Undo() error {
	var errs []error
	for _, f := range in.faults {
		errs = append(errs, f.Undo())
	}
	return errors.Join(errs...)
}

// fired notes that the i-th fault happened.
func (in *Injector) fired(i int, format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	in.record.Note("harness", "%s: %s", in.plan[i], text)
	in.mu.Lock()
	defer in.mu.Unlock()
	in.counts[i]++
	in.texts[i] = text
}

// inForce notes that the i-th fault may happen from now on.
func (in *Injector) inForce(i int) {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.force[i] = true
}

// seen is the proof of a fault by what fired has noted.
func (in *Injector) seen(i int) harness.Firing {
	in.mu.Lock()
	defer in.mu.Unlock()
	return harness.Firing{Count: in.counts[i], At: in.begun[i], Proof: in.texts[i]}
}

// failed notes a fault, or a step, that could not be done.
func (in *Injector) failed(what fmt.Stringer, err error) {
	in.record.Failed("harness", what.String(), err)
	in.record.Problem(harness.ByStep, fmt.Errorf("%s: %w", what, err))
}
