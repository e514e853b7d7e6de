// Package bystander runs containers that no fault targets, to show the effects of faults
// on other containers. There is a task, and its twin: a task with the same id in another
// namespace. With CRI a pod replaces the twin. They run from before the first fault until
// the client of the workload is done.
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

// exitStatus is the exit status of a bystander's payload. No error path of containerd
// uses this number.
const exitStatus = 42

const (
	// pollTimeout is the timeout of a status call about a bystander. The call usually takes
	// 2 ms. The timeout is shorter than the client's default of 10 s. A bystander's call
	// therefore fails first if a fault blocks both.
	pollTimeout = 5 * time.Second
	// listTimeout is the timeout of a list of all tasks. containerd requests the state from
	// each shim. It waits 2 s for a shim that does not respond
	// (io.containerd.timeout.task.state). A fault blocks one or two shims.
	listTimeout = pollTimeout + 2*2*time.Second
	// lifecycleTimeout is the timeout of each call that starts or ends a bystander. At these
	// times no fault blocks a process. The slowest call takes some 150 ms, and took 5 s at a
	// load of 40.
	lifecycleTimeout = 30 * time.Second
	// newcomerTimeout is the timeout of the calls of a newcomer. A newcomer is a bystander
	// that starts and ends while a fault blocks a call of the client.
	newcomerTimeout = 7 * time.Second
	// pollInterval is the time between two status calls about a bystander. Each costs some 2
	// ms of CPU time.
	pollInterval = 100 * time.Millisecond
)

// Params are the parameters of bystanders.
type Params struct {
	// Connect waits until containerd responds, and returns connections to it. Fired
	// reports whether any fault has happened, and AllFired whether all have.
	Connect         func(context.Context) (*containerd.Client, *grpc.ClientConn, error)
	Fired, AllFired func() bool
	// CRI adds a pod. Network is the network of the pod, and Terminal gives its container a
	// terminal.
	CRI      bool
	Network  harness.Network
	Terminal bool
	// NoExtraCalls omits the calls that execute statements of containerd at which
	// faults can happen. It is set if a fault counts how often such a statement is
	// executed.
	NoExtraCalls bool
	// Faultless is set for a case without faults. Only in such a case the log of a pod is
	// rotated.
	Faultless bool
	// OnlyPauses is set if all faults of the case only block calls. A newcomer then has
	// its whole lifecycle while they are blocked. OnNewID is called for each new id of a
	// bystander.
	OnlyPauses bool
	OnNewID    func()
	// Runtime is the name of the runtime for the tasks.
	Runtime string
	// Truth is the folder in which payloads write their records. FIFOs is the folder for the
	// FIFOs of their stdio.
	Truth, FIFOs *foreign.Dir
	Events       *event.Log
}

// Group has all bystanders of a case.
type Group struct {
	all []*one
	// newcomer is the bystander in all that starts late, or nil.
	newcomer *one
	ends     chan struct{}
	wait     sync.WaitGroup
}

// kind makes the calls about a bystander, through the task API or CRI.
type kind interface {
	// start returns when the payload runs. ask makes a cheap status call about the
	// bystander. askOnce makes the expensive calls, such as a list of all tasks. For such a
	// list containerd also calls the shims that a fault has blocked.
	start(context.Context) error
	ask(context.Context) error
	askOnce(context.Context) error
	// end waits for the payload's exit, and removes the bystander. discard removes the
	// bystander in any state.
	end(context.Context) error
	discard(context.Context) error
	// rotate rotates the bystander's log, if there is one.
	rotate(context.Context) error
	// output returns the payload's output, as the client read it.
	output() harness.Outputs
}

// one is one bystander.
type one struct {
	Params
	kind
	// name is unique among the bystanders. id is the id of the container. It is the same as
	// name, except for the twin.
	name, id  string
	namespace string

	// bound is the timeout of each call that starts or ends the bystander.
	bound     time.Duration
	askedOnce bool
	// polls counts the status calls.
	polls uint
	// If rotationFailed is set, there are no further rotations.
	rotationFailed bool

	mu   sync.Mutex
	seen harness.Bystander
}

// New returns the bystanders of a case. Start starts them.
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
	case !p.OnlyPauses:
	case p.CRI:
		g.newcomer = g.add(p, harness.CRI, daemon.CRINamespace, "newcomer")
		g.newcomer.kind = &pod{one: g.newcomer}
	default:
		g.newcomer = g.add(p, harness.TaskAPI, daemon.TaskNamespace, "newcomer")
		g.newcomer.kind = &task{one: g.newcomer}
	}
	if g.newcomer != nil {
		g.newcomer.bound, g.newcomer.seen.Newcomer = newcomerTimeout, true
	}
	return g
}

func (g *Group) add(p Params, api harness.API, namespace, name string) *one {
	b := &one{Params: p, name: name, id: name, namespace: namespace, bound: lifecycleTimeout,
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

// IDs returns containerd's ids of the bystanders' containers and pods that have been
// created.
func (g *Group) IDs() (all []string) {
	for _, b := range g.all {
		b.mu.Lock()
		all = append(all, b.seen.ID, b.seen.Sandbox)
		b.mu.Unlock()
	}
	return slices.DeleteFunc(all, func(id string) bool { return id == "" })
}

// Watch makes status calls about each bystander until End. It starts the newcomer after
// all faults have happened.
func (g *Group) Watch(ctx context.Context) {
	for _, b := range g.all {
		g.wait.Go(func() {
			if b == g.newcomer {
				b.runNewcomer(ctx, g.ends)
			} else {
				b.watch(ctx, g.ends)
			}
		})
	}
}

// runNewcomer waits until all faults have happened, and runs the newcomer's whole
// lifecycle. It returns no error, because the record has all calls of the newcomer.
func (b *one) runNewcomer(ctx context.Context, ends <-chan struct{}) {
	tick := time.Tick(pollInterval)
	for !b.AllFired() {
		select {
		case <-tick:
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
	b.poll(ctx)
	if b.release() == nil && b.end(ctx) == nil {
		b.set(func(s *harness.Bystander) { s.Removed = time.Now() })
	}
}

func (b *one) watch(ctx context.Context, ends <-chan struct{}) {
	tick := time.Tick(pollInterval)
	for {
		b.poll(ctx)
		select {
		case <-tick:
		case <-ends:
			b.poll(ctx) // one last call, after the client is done
			return
		case <-ctx.Done():
			return
		}
	}
}

// poll makes a status call. After all faults have happened, it also makes the expensive
// calls, once. An earlier expensive call could trigger a fault that is meant for the
// client. In a case without faults poll also rotates the log.
func (b *one) poll(ctx context.Context) {
	begun := time.Now()
	if b.ask(ctx) != nil || ctx.Err() != nil {
		return // the record has the failed call
	}
	b.set(func(s *harness.Bystander) { s.Asked, s.Slowest = s.Asked+1, max(s.Slowest, time.Since(begun)) })
	if !b.askedOnce && !b.NoExtraCalls && b.AllFired() {
		b.askedOnce = true
		_ = b.askOnce(ctx) // the record has a failed call
	}
	// The log is rotated at the status calls 1, 2, 4, 8 and so on. A resource that each
	// rotation leaks then accumulates. The later rotations also test a containerd that a
	// step has restarted.
	if b.polls++; b.Faultless && !b.NoExtraCalls && !b.rotationFailed && bits.OnesCount(b.polls) == 1 {
		b.rotationFailed = b.rotate(ctx) != nil // the record has the failed call
	}
}

// End lets the bystanders end, and removes them until ctx ends. It returns their records,
// except for a newcomer that has made no call.
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

// begun reports whether there was any call about the bystander. There is none about a
// newcomer if not all faults have happened.
func begun(s harness.Bystander) bool { return s.ID != "" || len(s.Calls) > 0 }

func (b *one) finish(ctx context.Context) (harness.Bystander, error) {
	var err error
	is := b.snapshot()
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
	return b.snapshot(), err
}

// snapshot returns a copy of the bystander's record.
func (b *one) snapshot() harness.Bystander {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.seen
}

func (b *one) truth() string { return b.name + ".truth" }
