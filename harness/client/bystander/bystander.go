// Package bystander runs tasks and pods that no fault targets: a task, and its twin
// with the same id in another namespace. With CRI there is a pod in place of the twin.
// They run from before the first fault until the client is done. So they show the
// effects of a fault on other containers.
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

// exitStatus is the exit status of a bystander. No error path of containerd uses it.
const exitStatus = 42

const (
	// askBound is the timeout of a status call about a bystander. It takes 2 ms. A client's
	// call that hangs ends after 10 s at the earliest.
	askBound = 5 * time.Second
	// listBound is the timeout of a list of all tasks. containerd asks each shim, and waits
	// 2 s for a shim that does not respond (io.containerd.timeout.task.state). A fault holds
	// one or two shims.
	listBound = askBound + 2*2*time.Second
	// doBound is the timeout of a call of its start or its end. No fault holds a process
	// then. The slowest call takes some 150 ms, and took 5 s at a load of 40.
	doBound = 30 * time.Second
	// newBound is the timeout of a newcomer's calls. A fault that holds another call must
	// not hold them.
	newBound = 7 * time.Second
	// every is the time between two status calls about it. Each costs some 2 ms.
	every = 100 * time.Millisecond
)

// Params are the parameters of bystanders.
type Params struct {
	// Up waits until containerd responds. Fired reports whether a fault has happened, and
	// AllFired whether each has.
	Up              func(context.Context) (*containerd.Client, *grpc.ClientConn, error)
	Fired, AllFired func() bool
	// CRI adds a pod, in that network, with or without a terminal.
	CRI      bool
	Network  harness.Network
	Terminal bool
	// Quiet leaves out the calls that pass counted statements of containerd.
	Quiet bool
	// Faultless is set for a case without faults. Only then is a pod's log rotated.
	Faultless bool
	// Holds is set if the faults only hold calls. A newcomer then goes through its whole
	// lifecycle meanwhile, with an id of its own. Made is called for each new id.
	Holds bool
	Made  func()
	// Runtime is the runtime of the tasks.
	Runtime string
	// Truth and FIFOs are the world's folders.
	Truth, FIFOs *foreign.Dir
	Events       *event.Log
	// Problem notes a failure of the harness. It ignores nil.
	Problem func(error)
}

// Group has all bystanders of a case.
type Group struct {
	all []*one
	// newcomer is one of them, or nil in most cases. It does not run from the start.
	newcomer *one
	ends     chan struct{}
	wait     sync.WaitGroup
}

// kind is a way to run a bystander.
type kind interface {
	// start returns when the payload runs. ask makes a cheap call about the bystander.
	// askOnce makes the expensive calls, such as the lists that also contain objects held by
	// a fault.
	start(context.Context) error
	ask(context.Context) error
	askOnce(context.Context) error
	// end waits for the bystander's exit, and removes it. discard removes it in any state.
	end(context.Context) error
	discard(context.Context) error
	// rotate rotates its log, if it has one.
	rotate(context.Context) error
	// output returns the output that was read.
	output() harness.Outputs
}

// one is one bystander.
type one struct {
	Params
	kind
	// name is its own. It is also its container's id, except for the twin.
	name, id  string
	namespace string

	// bound is the timeout of a call of its start or its end.
	bound     time.Duration
	askedOnce bool
	// questions counts the status calls.
	questions uint
	// A rotation has failed, so that there are no further ones.
	unrotated bool

	mu   sync.Mutex
	seen harness.Bystander
}

// New prepares the bystanders of a case.
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

// Start starts all bystanders except the newcomer, and returns when they run.
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

// IDs returns containerd's ids of the containers and pods that exist by now.
func (g *Group) IDs() (all []string) {
	for _, b := range g.all {
		b.mu.Lock()
		all = append(all, b.seen.ID, b.seen.Sandbox)
		b.mu.Unlock()
	}
	return slices.DeleteFunc(all, func(id string) bool { return id == "" })
}

// Watch makes status calls about each bystander until End. It starts the newcomer when
// all faults have happened.
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

// come runs the newcomer's whole lifecycle while a fault holds other calls. Its calls
// show the result.
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

// question makes a status call. When all faults have happened, it also makes the
// expensive calls, once. Before that, such a call could hit a fault that is meant for
// the client. In a case without faults it rotates the log.
func (b *one) question(ctx context.Context) {
	begun := time.Now()
	if b.ask(ctx) != nil || ctx.Err() != nil {
		return // the error is among the calls
	}
	b.set(func(s *harness.Bystander) { s.Asked, s.Slowest = s.Asked+1, max(s.Slowest, time.Since(begun)) })
	if !b.askedOnce && !b.Quiet && b.AllFired() {
		b.askedOnce = true
		_ = b.askOnce(ctx) // an error is among the calls
	}
	// There are several rotations, because a leak of each adds up. A late rotation comes
	// after a restart.
	if b.questions++; b.Faultless && !b.Quiet && !b.unrotated && bits.OnesCount(b.questions) == 1 {
		b.unrotated = b.rotate(ctx) != nil // the error is among the calls
	}
}

// End lets the bystanders end and removes them, as long as ctx allows. It returns their
// records, except for a newcomer that has not begun.
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

// begun reports whether the bystander has made a call. A newcomer may have made none.
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

// is returns the record of the bystander until now.
func (b *one) is() harness.Bystander {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.seen
}

func (b *one) truth() string { return b.name + ".truth" }
