// Package inject makes the faults of a case happen, and keeps a proof of each.
//
// Each kind of fault has one file with one implementation of Fault, and one line in
// kinds. It makes no calls of the client, and judges nothing.
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
	// Begin is called when the workload reaches the fault's state (Point.State). It makes
	// the fault happen, or puts it in force so that it can happen later. A fault in a probe
	// is in force from the start, so its Begin is never called.
	Begin(ctx context.Context) error
	// Proof returns how often the fault happened, and the evidence. It is called when the
	// client is done.
	Proof(ctx context.Context) (harness.Firing, error)
	// Undo ends effects that would outlive the case, such as a throttle or a strace. It is
	// called once, also if Begin was not called.
	Undo() error
}

// kind has the constructor for the faults at a kind of points.
type kind struct {
	make func(*Injector, int) Fault
	// available returns an error if this machine cannot make such faults. It is nil if each
	// machine can. does names the ability.
	available func() error
	does      string
}

// kinds has an entry for each kind of points.
var kinds = map[failpoints.Kind]kind{
	failpoints.RPC:  {make: newProbed},
	failpoints.Stmt: {make: newProbed},
	failpoints.Proc: {make: newSignal},
	failpoints.Sys:  {make: newSlowCall, available: slowsys.Available, does: "delay a system call (sys: faults)"},
	failpoints.IO:   {make: newPressure, available: iopressure.Available, does: "put a disk under pressure (io: faults)"},
}

// Need is something that the machine must have for a kind of faults.
type Need struct {
	What      string // the ability that depends on it
	Available func() error
	kind      failpoints.Kind
}

// Wanted reports whether a plan has such faults.
func (n Need) Wanted(plan failpoints.Plan) bool {
	return slices.ContainsFunc(plan, func(f failpoints.Fault) bool { return f.At.Kind == n.kind })
}

// Needs returns the requirements of all kinds of faults.
func Needs() (all []Need) {
	for name, k := range kinds {
		if k.available != nil {
			all = append(all, Need{k.does, k.available, name})
		}
	}
	slices.SortFunc(all, func(a, b Need) int { return strings.Compare(string(a.kind), string(b.kind)) })
	return all
}

// Daemon is the containerd that faults kill, freeze and start. [daemon.Daemon] implements
// it.
type Daemon interface {
	PID() int
	Kill(ctx context.Context) error
	Freeze(ctx context.Context) error
	Thaw(ctx context.Context) error
	// Release lets a killed containerd start again. Connect waits until it responds.
	Release()
	Connect(ctx context.Context) (*containerd.Client, *grpc.ClientConn, error)
}

var _ Daemon = (*daemon.Daemon)(nil)

// Target gives the faults of a case access to processes and calls.
type Target struct {
	World *world.World
	// Daemon is the containerd under test, also while it boots for the first time.
	Daemon Daemon
	// Processes returns the processes that faults may target.
	Processes func() ([]inventory.Process, error)
	// InitPID returns the pid of the init process of the first container ("task") or of the
	// sandbox ("sandbox"). KnownPID returns the same pid without a call to containerd, or 0
	// if no response has named it. Shares reports whether the shim with this id serves all
	// containers.
	InitPID  func(ctx context.Context, who string) (int, error)
	KnownPID func(who string) int
	Shares   func(shim string) bool
	// InFlight returns the client's call in flight. If there is none, done is nil. A call of
	// cancel cancels the call's context.
	InFlight func() (cancel func(), done <-chan struct{})
	// Removed is closed when the client has removed everything.
	Removed <-chan struct{}
	// AskWhilePaused requests the state of the first container while a process is
	// paused at the point pausedAt.
	AskWhilePaused func(ctx context.Context, pausedAt string) error
	// Exited waits until the first container's payload has recorded its exit.
	Exited func(context.Context) error
}

// Injector makes the faults of one case happen.
type Injector struct {
	Target
	ctx    context.Context
	plan   failpoints.Plan
	record *record.Recorder
	words  []string // misbehaviours of the fake shim
	faults []Fault  // the faults of the plan, and then the misbehaviours

	// Controller decides for each hit of a probe whether a fault happens.
	Controller *failpoints.Controller

	mu sync.Mutex
	// These lists have an entry for each fault of the plan: how often it happened, its last
	// proof, and the time at which it began.
	counts []int
	texts  []string
	begun  []time.Time
	// force is set for a fault that is in force: it may happen at any time, and Proof shows
	// later whether it did.
	force []bool
}

// New returns the injector for the faults of a case. ctx is the context of the whole run.
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

// Listen starts the controller. Probes connect to it through a Unix socket, and ask at
// each hit whether a fault happens.
func (in *Injector) Listen(socket string) (err error) {
	in.Controller, err = failpoints.Listen(socket, in.plan, in.onPause)
	return err
}

// At makes the faults of a state happen, in the order of the plan. A killed containerd
// starts again only after the last of them. A plan can therefore kill containerd, and
// then a shim while containerd is down.
func (in *Injector) At(ctx context.Context, state string) {
	in.record.Note("client", "state %s", state)
	down := false
	for i, f := range in.plan {
		if f.At.State() != state {
			continue
		}
		in.mu.Lock()
		in.begun[i] = time.Now() // before Begin, because calls may fail from now on
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

// Finish waits for the steps of pauses, and returns the proof of each fault.
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

// AnyFired reports whether any fault of the plan or misbehaviour of the fake shim has
// happened, or may have.
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

// Undo ends the effects of faults that would outlive the case.
func (in *Injector) Undo() error {
	var errs []error
	for _, f := range in.faults {
		errs = append(errs, f.Undo())
	}
	return errors.Join(errs...)
}

// fired notes that the i-th fault of the plan happened, with a proof.
func (in *Injector) fired(i int, format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	in.record.Note("harness", "%s: %s", in.plan[i], text)
	in.mu.Lock()
	defer in.mu.Unlock()
	in.counts[i]++
	in.texts[i] = text
}

// inForce notes that the i-th fault of the plan may happen from now on.
func (in *Injector) inForce(i int) {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.force[i] = true
}

// seen returns the proof of the i-th fault, as fired noted it.
func (in *Injector) seen(i int) harness.Firing {
	in.mu.Lock()
	defer in.mu.Unlock()
	return harness.Firing{Count: in.counts[i], At: in.begun[i], Proof: in.texts[i]}
}

// failed records a fault that could not be injected, or a failed step of a pause.
func (in *Injector) failed(what fmt.Stringer, err error) {
	in.record.Failed("harness", what.String(), err)
	in.record.Problem(harness.ByStep, fmt.Errorf("%s: %w", what, err))
}
