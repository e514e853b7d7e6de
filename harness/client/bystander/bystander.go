// Package bystander runs what nothing is done to: a task, its twin of the same id in
// another namespace, or with CRI a pod in its place. They are there before the first
// fault and until the client is done, and show what a fault of one container does to
// others.
package bystander

import (
	"context"
	"errors"
	"fmt"
	"math/bits"
	"slices"
	"sync"
	"time"

	containerd "github.com/containerd/containerd/v2/client"
	"google.golang.org/grpc"

	"github.com/shimquake/shimquake/fixtures/containerd/daemon"
	"github.com/shimquake/shimquake/foreign"
	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/harness/client"
	"github.com/shimquake/shimquake/oracle/event"
)

// exitStatus is what a bystander ends with: nobody makes that one up.
const exitStatus = 42

const (
	// askBound is how long a question about a bystander may take. It takes 2 ms; a client's
	// call that hangs is given up after 10 s at the earliest.
	askBound = 5 * time.Second
	// listBound is that of a list of all tasks. containerd asks each shim and waits 2 s for
	// one that does not answer (io.containerd.timeout.task.state); a fault holds one or two.
	listBound = askBound + 2*2*time.Second
	// doBound is how long a call of its start or its end may take: then no fault holds
	// anybody. The slowest takes some 150 ms, and was seen to take 5 s at a load of 40.
	doBound = 30 * time.Second
	// newBound is that of the calls of a newcomer, whom a fault that holds another may not
	// hold.
	newBound = 7 * time.Second
	// every is the time between two questions about it: each costs some 2 ms.
	every = 100 * time.Millisecond
)

// Params are what bystanders are given.
type Params struct {
	// Up waits until containerd answers; Fired reports whether a fault has happened,
	// AllFired whether each has.
	Up              func(context.Context) (*containerd.Client, *grpc.ClientConn, error)
	Fired, AllFired func() bool
	// CRI adds a pod, in that network, with or without a terminal.
	CRI      bool
	Network  harness.Network
	Terminal bool
	// Quiet leaves out the questions that pass statements of containerd which are counted.
	Quiet bool
	// Faultless is set where nothing is to be broken: a pod's log is rotated then.
	Faultless bool
	// Holds is set where all that faults do is to hold calls: a newcomer lives its whole
	// life meanwhile, as an id of its own, of which Made tells.
	Holds bool
	Made  func()
	// Runtime is that of the task.
	Runtime string
	// Truth and FIFOs are the world's folders.
	Truth, FIFOs *foreign.Dir
	Events       *event.Log
	// Problem notes what the harness could not do; nil is none.
	Problem func(error)
}

// Group is all bystanders of a case.
type Group struct {
	all []*one
	// newcomer is among them, nil in most cases, and is not there from the start.
	newcomer *one
	ends     chan struct{}
	wait     sync.WaitGroup
}

// kind is a way to run a bystander.
type kind interface {
	// start returns when its payload runs; ask asks a cheap question about it; askOnce asks
	// for all that are like it, those that a fault holds among them, and what else costs
	// more.
	start(context.Context) error
	ask(context.Context) error
	askOnce(context.Context) error
	// end learns how it has ended, and removes it; discard removes it, however it is.
	end(context.Context) error
	discard(context.Context) error
	// rotate has its log rotated, where it has one.
	rotate(context.Context) error
	// output is what was read of its output.
	output() harness.Outputs
}

// one is one bystander.
type one struct {
	Params
	kind
	// name is its own, and also its container's id, if it does not share that of another.
	name, id  string
	namespace string

	// bound is how long a call of its start or its end may take.
	bound     time.Duration
	askedOnce bool
	// questions were asked, and a rotation has failed.
	questions uint
	unrotated bool

	mu   sync.Mutex
	seen harness.Bystander
}

// New prepares them.
func New(p Params) *Group {
	g := &Group{ends: make(chan struct{})}
	t := g.add(p, harness.TaskAPI, daemon.TaskNamespace, "bystander")
	t.kind = &task{one: t}
	if p.CRI {
		b := g.add(p, harness.CRI, daemon.CRINamespace, harness.BystanderPod)
		b.kind = &pod{one: b}
	} else {
		twin := g.add(p, harness.TaskAPI, daemon.TwinNamespace, "bystander-twin")
		twin.id = t.id
		twin.kind = &task{one: twin}
	}
	switch {
	case !p.Holds:
	case p.CRI:
		g.newcomer = g.add(p, harness.CRI, daemon.CRINamespace, "newcomer")
		g.newcomer.kind = &pod{one: g.newcomer}
	default:
		g.newcomer = g.add(p, harness.TaskAPI, daemon.TaskNamespace, "newcomer")
		g.newcomer.kind = &task{one: g.newcomer}
	}
	if g.newcomer != nil {
		g.newcomer.bound, g.newcomer.seen.Newcomer = newBound, true
	}
	return g
}

func (g *Group) add(p Params, api harness.API, namespace, name string) *one {
	b := &one{Params: p, name: name, id: name, namespace: namespace, bound: doBound,
		seen: harness.Bystander{API: api, Namespace: namespace, Want: exitStatus}}
	g.all = append(g.all, b)
	return b
}

// Start returns when all of them run but the newcomer.
func (g *Group) Start(ctx context.Context) error {
	for _, b := range g.all {
		if b == g.newcomer {
			continue
		}
		if err := b.start(ctx); err != nil {
			return fmt.Errorf("start the %s: %w", b.name, err)
		}
		b.set(func(s *harness.Bystander) { s.Started = time.Now() })
	}
	return nil
}

// IDs are containerd's ids of those of their containers and pods that there are by now.
func (g *Group) IDs() (all []string) {
	for _, b := range g.all {
		b.mu.Lock()
		all = append(all, b.seen.ID, b.seen.Sandbox)
		b.mu.Unlock()
	}
	return slices.DeleteFunc(all, func(id string) bool { return id == "" })
}

// Watch asks for each of them all the time, until End, and has the newcomer come when all
// faults have happened.
func (g *Group) Watch(ctx context.Context) {
	for _, b := range g.all {
		g.wait.Go(func() {
			if b == g.newcomer {
				b.come(ctx, g.ends)
			} else {
				b.watch(ctx, g.ends)
			}
		})
	}
}

// come lives a whole life while a fault holds others. What it shows is among its calls.
func (b *one) come(ctx context.Context, ends <-chan struct{}) {
	tick := time.NewTicker(every)
	defer tick.Stop()
	for !b.AllFired() {
		select {
		case <-tick.C:
		case <-ends:
			return
		case <-ctx.Done():
			return
		}
	}
	if b.start(ctx) != nil {
		return
	}
	b.set(func(s *harness.Bystander) { s.Started = time.Now() })
	b.question(ctx)
	if b.release() == nil && b.end(ctx) == nil {
		b.set(func(s *harness.Bystander) { s.Removed = time.Now() })
	}
}

func (b *one) watch(ctx context.Context, ends <-chan struct{}) {
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		b.question(ctx)
		select {
		case <-tick.C:
		case <-ends:
			b.question(ctx) // when the client is done, too
			return
		case <-ctx.Done():
			return
		}
	}
}

// question asks, and once, when nothing is to happen any more that a list could meet in
// place of who it is meant for, what costs more. Where nothing is broken a log is
// rotated.
func (b *one) question(ctx context.Context) {
	begun := time.Now()
	if b.ask(ctx) != nil || ctx.Err() != nil {
		return // it is among the calls
	}
	b.set(func(s *harness.Bystander) { s.Asked, s.Slowest = s.Asked+1, max(s.Slowest, time.Since(begun)) })
	if !b.askedOnce && !b.Quiet && b.AllFired() {
		b.askedOnce = true
		_ = b.askOnce(ctx) // an error is among the calls
	}
	// What is left of each rotation adds up; and one comes late, behind a restart.
	if b.questions++; b.Faultless && !b.Quiet && !b.unrotated && bits.OnesCount(b.questions) == 1 {
		b.unrotated = b.rotate(ctx) != nil // why is among the calls
	}
}

// End lets them come to their ends and removes them, within the time that ctx gives, and
// returns what was seen of them, but for a newcomer that has not come.
func (g *Group) End(ctx context.Context) ([]harness.Bystander, error) {
	close(g.ends)
	g.wait.Wait()
	var ended sync.WaitGroup
	out, errs := make([]harness.Bystander, len(g.all)), make([]error, len(g.all))
	for n, b := range g.all {
		ended.Go(func() { out[n], errs[n] = b.finish(ctx) })
	}
	ended.Wait()
	return slices.DeleteFunc(out, func(s harness.Bystander) bool { return !begun(s) }), errors.Join(errs...)
}

// begun reports whether a call was made for it, which a newcomer may not have come to.
func begun(s harness.Bystander) bool { return s.ID != "" || len(s.Calls) > 0 }

func (b *one) finish(ctx context.Context) (harness.Bystander, error) {
	var err error
	is := b.is()
	if !begun(is) {
		return is, nil
	}
	ended := !is.Removed.IsZero()
	if !is.Started.IsZero() && is.Released.IsZero() {
		err = b.release()
		ended = b.end(ctx) == nil
	}
	if !ended && client.Until(ctx, b.discard) == nil || ended && is.Removed.IsZero() {
		b.set(func(s *harness.Bystander) { s.Removed = time.Now() })
	}
	if !is.Started.IsZero() {
		own, truthErr := client.ReadTruth(b.Truth, b.truth())
		err = errors.Join(err, truthErr)
		out := b.output()
		b.set(func(s *harness.Bystander) { s.Payload, s.Output, s.Stderr = own, out.Stdout, &out.Stderr })
	}
	return b.is(), err
}

// is is what was seen of it until now.
func (b *one) is() harness.Bystander {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.seen
}

func (b *one) truth() string { return b.name + ".truth" }
