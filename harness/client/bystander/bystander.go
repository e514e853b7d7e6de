// Package bystander runs containers that no fault targets, to show the effects of faults
// on other containers. There is a task, and its twin: a task with the same id in another
// namespace. With CRI a pod replaces the twin. Each has a client of its own, as the
// workload has. They run from before the first fault until the client of the workload is
// done.
package bystander

import (
	"context"
	"errors"
	"fmt"
	"math/bits"
	"slices"
	"sync"
	"time"

	"github.com/shimquake/shimquake/fixtures/containerd/daemon"
	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/harness/client"
	"github.com/shimquake/shimquake/harness/client/cri"
	"github.com/shimquake/shimquake/harness/client/task"
	"github.com/shimquake/shimquake/harness/record"
	"github.com/shimquake/shimquake/oracle/callerr"
	"github.com/shimquake/shimquake/oracle/event"
	"github.com/shimquake/shimquake/oracle/inventory"
	"github.com/shimquake/shimquake/poll"
	"github.com/shimquake/shimquake/shims/runcshim"
)

// exitStatus is the exit status of a bystander's payload. No error path of containerd
// uses this number.
const exitStatus = 42

const (
	// askTimeout is the timeout of the status calls of one poll. They usually take 2 ms. The
	// timeout is shorter than the client's default of 10 s. A bystander's call therefore
	// fails first if a fault blocks both.
	askTimeout = 5 * time.Second
	// listTimeout is the timeout of a list of all tasks. containerd requests the state from
	// each shim. It waits 2 s for a shim that does not respond
	// (io.containerd.timeout.task.state). A fault blocks one or two shims.
	listTimeout = askTimeout + 2*2*time.Second
	// lifecycleTimeout is the timeout of each step that starts or ends a bystander. At these
	// times no fault blocks a process. The slowest one takes some 150 ms, and took 5 s at a
	// load of 40.
	lifecycleTimeout = 30 * time.Second
	// newcomerTimeout is the timeout of the steps of a newcomer. A newcomer is a bystander
	// that starts and ends while a fault blocks a call of the client.
	newcomerTimeout = 7 * time.Second
	// pollInterval is the time between two polls. Each costs some 2 ms of CPU time.
	pollInterval = 100 * time.Millisecond
)

// Params are the parameters of bystanders.
type Params struct {
	// Client are the parameters of the workload's client.
	Client client.Params
	// AllFired reports whether all faults have happened.
	AllFired func() bool
	// OnlyPauses is set if all faults of the case only block calls. A newcomer then has
	// its whole lifecycle while they are blocked.
	OnlyPauses bool
	// OnNewID is called for each new id of a bystander.
	OnNewID func()
}

// Group has all bystanders of a case.
type Group struct {
	all []*one
	// ctx ends when the bystanders must be gone, and ends when they must end.
	ctx, ends   context.Context
	cancel, end context.CancelFunc
	wait        sync.WaitGroup
}

// asker is a client that also makes status calls about its first container.
type asker interface {
	client.Client
	// Ask makes a cheap call. AskOnce makes expensive calls, such as a list of all tasks.
	// For such a list containerd also calls the shims that a fault has blocked.
	Ask(ctx context.Context) error
	AskOnce(ctx context.Context) error
}

// one is one bystander.
type one struct {
	Params
	session *client.Session
	client  asker
	record  record.Recorder
	ends    context.Context
	// begun is called when the bystander runs, or cannot be started. failed is the error of
	// its start.
	begun  func()
	failed *callerr.Failed
	// asksOnce is set until AskOnce is called. rotates is set until a rotation fails. polls
	// counts the polls.
	asksOnce, rotates bool
	polls             uint
	seen              harness.Bystander
}

// New returns the bystanders of a case. Start starts them.
func New(ctx context.Context, p Params) *Group {
	g := &Group{}
	g.ctx, g.cancel = context.WithCancel(ctx)
	g.ends, g.end = context.WithCancel(g.ctx)
	const id, newcomer = "bystander", "newcomer"
	api, namespace := harness.TaskAPI, daemon.TaskNamespace
	g.add(p, api, namespace, client.Beside{Name: id, ID: id})
	if p.Client.Case.Workload.API == harness.CRI {
		api, namespace = harness.CRI, daemon.CRINamespace
		g.add(p, api, namespace, client.Beside{Name: harness.BystanderPod})
	} else {
		g.add(p, api, daemon.TwinNamespace, client.Beside{Name: "bystander-twin", ID: id})
	}
	if p.OnlyPauses {
		b := g.add(p, api, namespace, client.Beside{Name: newcomer, ID: newcomer})
		b.session.CallTimeout, b.seen.Newcomer = newcomerTimeout, true
	}
	return g
}

func (g *Group) add(p Params, api harness.API, namespace string, is client.Beside) *one {
	b := &one{Params: p, ends: g.ends, begun: func() {}, asksOnce: !p.Client.NoExtraCalls,
		rotates: !p.Client.NoExtraCalls && p.Client.Case.Faultless(),
		seen:    harness.Bystander{API: api, Namespace: namespace, Want: exitStatus}}
	w := harness.Workload{API: api, Containers: []harness.Container{{Exit: exitStatus}}, CallTimeout: lifecycleTimeout,
		TimeLimit: time.Hour} // End ends it
	if of := p.Client.Case.Workload; api == harness.CRI {
		w.Network, w.Containers[0].TTY = of.Network, len(of.Containers) > 0 && of.Containers[0].TTY
	}
	c := p.Client
	is.Told = b.told
	c.Case, c.Beside, c.Namespace, c.Record = harness.Case{Workload: w}, &is, namespace, &b.record
	c.State, c.OnNewID, c.Runtime = b.state, p.OnNewID, runcshim.Runtime
	c.IsForeign = func(id string) bool { return !slices.Contains(b.ids(), id) }
	c.Belongings = func(...string) (inventory.Belongings, error) { return inventory.Belongings{}, nil }
	b.session = client.NewSession(c)
	g.all = append(g.all, b)
	return b
}

// ids returns containerd's ids of the bystander's container and pod, or "" before their
// creation.
func (b *one) ids() []string { return []string{b.session.ID("task"), b.session.ID("sandbox")} }

// IDs returns containerd's ids of the bystanders' containers and pods that have been
// created.
func (g *Group) IDs() (all []string) {
	for _, b := range g.all {
		all = append(all, b.ids()...)
	}
	return slices.DeleteFunc(all, func(id string) bool { return id == "" })
}

// Start starts all bystanders that do not run yet, and returns when they run. The
// newcomer starts after all faults have happened.
func (g *Group) Start(ctx context.Context) error {
	for _, b := range g.all {
		switch {
		case b.seen.Newcomer:
			g.wait.Go(func() {
				if poll.Until(g.ends, pollInterval, func() (bool, error) { return b.AllFired(), nil }) == nil {
					b.run(g.ctx)
				}
			})
			continue
		case !b.seen.Started.IsZero():
			continue
		}
		running, begun := context.WithCancel(ctx)
		b.begun = begun
		g.wait.Go(func() { b.run(g.ctx) })
		if <-running.Done(); ctx.Err() != nil {
			return ctx.Err()
		}
		if b.seen.Started.IsZero() {
			return fmt.Errorf("start the %s: %w", b.session.Beside.Name, b.failed)
		}
	}
	return nil
}

// run runs the whole lifecycle. It returns no error, because the record has all calls.
func (b *one) run(ctx context.Context) {
	if b.seen.API == harness.CRI {
		b.client = cri.New(b.session)
	} else {
		b.client = task.New(b.session)
	}
	if b.client.Run(ctx) == nil {
		b.seen.Removed = time.Now()
	}
}

// state polls a running bystander until it must end, but a newcomer only twice. After the
// exit it waits for the last event of a container of CRI, whose task no client deletes.
func (b *one) state(ctx context.Context, state string) {
	i := b.client.Instances()[0]
	switch {
	case state == "exited" && b.seen.API == harness.CRI && !i.Started.IsZero():
		b.session.AwaitEvent(ctx, i.ID, event.TopicDelete)
	case state != "running":
	case i.Started.IsZero():
		for _, c := range b.record.History().Calls {
			b.failed = c.Err
		}
		b.begun()
	default:
		b.seen.Started = i.Started
		b.begun()
		_ = poll.Until(b.ends, pollInterval, func() (bool, error) { // until the client is done
			b.poll(ctx)
			return b.seen.Newcomer, nil
		})
		b.poll(ctx)
		b.seen.Released = time.Now()
	}
}

// poll makes a status call. After all faults have happened, it also makes the expensive
// calls, once. An earlier expensive call could trigger a fault that is meant for the
// client. In a case without faults poll also rotates the log.
func (b *one) poll(ctx context.Context) {
	within := func(timeout time.Duration, ask func(context.Context) error) error {
		ctx, cancel := context.WithTimeout(ctx, timeout)
		defer cancel()
		return ask(ctx)
	}
	if within(askTimeout, b.client.Ask) != nil || ctx.Err() != nil {
		return // the record has the failed call
	}
	if b.asksOnce && b.AllFired() {
		b.asksOnce = false
		_ = within(listTimeout, b.client.AskOnce) // the record has a failed call
	}
	// The log is rotated at the polls 1, 2, 4, 8 and so on. A resource that each rotation
	// leaks then accumulates. The later rotations also test a containerd that a step has
	// restarted.
	b.polls++
	log, is := b.client.(interface{ Rotate(context.Context) error })
	if is && b.rotates && bits.OnesCount(b.polls) == 1 {
		b.rotates = log.Rotate(ctx) == nil // the record has the failed call
	}
}

// told records a response, unless it equals the previous response to the same call.
func (b *one) told(is harness.BystanderTold) {
	for _, was := range slices.Backward(b.seen.Told) {
		if was.Verb == is.Verb {
			if was.At = is.At; was == is {
				return
			}
			break
		}
	}
	b.seen.Told = append(b.seen.Told, is)
}

// End lets the bystanders end, and removes them until ctx ends. It returns their records,
// except for a newcomer that has made no call.
func (g *Group) End(ctx context.Context) (all []harness.Bystander, err error) {
	defer g.cancel()
	defer context.AfterFunc(ctx, g.cancel)()
	g.end()
	g.wait.Wait()
	for _, b := range g.all {
		if b.client != nil {
			err = errors.Join(err, b.finish())
			all = append(all, b.seen)
		}
	}
	return all, err
}

// finish completes the record of a bystander that has ended.
func (b *one) finish() (err error) {
	h, i := b.record.History(), b.client.Instances()[0]
	for _, p := range h.Problems {
		err = errors.Join(err, errors.New(p.Text))
	}
	b.calls(h.Calls)
	b.seen.Instance, b.seen.Sandbox, b.seen.Reported = *i, b.session.ID("sandbox"), h.Reported
	if i.Started.IsZero() {
		return err
	}
	if i.Outputs != nil {
		b.seen.Output, b.seen.Stderr, b.seen.Outputs = i.Outputs.Stdout, &i.Outputs.Stderr, nil
	}
	b.seen.OutputsAtExit = nil // the rule bystanders does not need it
	own, unread := b.session.Payload(i.Name)
	b.seen.Payload = own
	return errors.Join(err, unread)
}

// asks has the verbs of status calls.
var asks = []string{"Get", "State", "List", "Kill", "ContainerStatus", "ListContainers", "ListPodSandbox"}

// calls records the calls, but of the successful status calls only the number. Of several
// failed calls of the removal one after the other, it records the first.
func (b *one) calls(all []harness.Call) {
	failed := false
	for _, c := range all {
		if c.Who != "client" {
			continue
		}
		if c.Who, c.Of = "bystander", b.session.Beside.Name; c.Err != nil && c.Err.Call == "" {
			c.Err.Call = c.Verb
		}
		again := failed && c.Err != nil
		switch isAsk := slices.Contains(asks, c.Verb); {
		case isAsk && c.Err == nil:
			b.seen.Asked, b.seen.Slowest = b.seen.Asked+1, max(b.seen.Slowest, c.Took)
		case isAsk:
			b.seen.Calls = append(b.seen.Calls, c)
		case !again:
			b.seen.Calls = append(b.seen.Calls, c)
			failed = c.Err != nil
		}
	}
}
