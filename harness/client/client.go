// Package client is what the clients of containerd have in common. Each has a folder of
// its own below this one: task is dockerd's way, cri is kubelet's. A client goes through
// a workload's lifecycle, comes back with what fails, as those two do, and writes down
// what it does and hears; it breaks nothing and judges nothing.
package client

import (
	"context"
	"net"
	"slices"
	"sync"
	"time"

	containerd "github.com/containerd/containerd/v2/client"
	"github.com/containerd/errdefs"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"

	"github.com/shimquake/shimquake/foreign"
	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/harness/record"
	"github.com/shimquake/shimquake/harness/script"
	"github.com/shimquake/shimquake/oracle/callerr"
	"github.com/shimquake/shimquake/oracle/criview"
	"github.com/shimquake/shimquake/oracle/event"
	"github.com/shimquake/shimquake/oracle/inventory"
)

// Client is one way to use containerd, with a workload.
type Client interface {
	// Run goes through the lifecycle and then removes everything, again and again until the
	// deadline. Its error is that of the last attempt: the client never got rid of it.
	Run(ctx context.Context) error
	// Reuse uses the first id once more, without a fault, and expects that to work; briefly
	// leaves out what no fault can be in the way of.
	Reuse(ctx context.Context, briefly bool) (harness.Use, error)
	// Instances are all containers that the workload has asked for. They are the client's:
	// nobody changes them.
	Instances() []*harness.Instance
	// Shares reports whether a shim of that id serves the workload's other containers too.
	Shares(shim string) bool
}

// Params are what a client is given.
type Params struct {
	Case harness.Case
	// Up waits until containerd answers, and gives its clients.
	Up func(context.Context) (*containerd.Client, *grpc.ClientConn, error)
	// Restart restarts containerd and waits until it answers. That it does not is the
	// judge's business. Died reports whether it has ended, by that or otherwise.
	Restart func(context.Context) error
	Died    func() bool
	// Install replaces the programs of containerd, for its next start.
	Install func(script.Installation) error
	// State is called when the workload has come to a state: faults happen there. Fired
	// reports whether any has.
	State func(ctx context.Context, state string)
	Fired func() bool
	// StandIn has another process, which does nothing, have a pid. What it returns ends
	// that, and reports whether somebody else had.
	StandIn func(ctx context.Context, pid int) (end func(context.Context) (hit bool, err error), err error)
	// Spare reports whether an id is that of a bystander, which is none of the client's.
	Spare func(id string) bool
	// Runtime is that of the workload's containers; OtherRuntime is what the first id is
	// used again with.
	Runtime, OtherRuntime string
	// Truth is the world's folder for the records of payloads, FIFOs that for the FIFOs of
	// their output.
	Truth, FIFOs *foreign.Dir
	// Logger is the program of a payload in the world, which is a logger of shims, too.
	Logger string
	// OOMKills is the count of the kernel for the cgroup of an id, which is there until the
	// container is deleted; nil where it cannot be read.
	OOMKills func(id string) *int
	// PIDs are the processes that the kernel has in the cgroup of an id.
	PIDs   func(id string) []int
	Events *event.Log
	Record *record.Recorder
	// CRIEvents are CRI's container events; nil where no CRI is used.
	CRIEvents *criview.Log
	// TellsAll reports whether each client of these is told all of them: else one that goes
	// away would take some with it.
	TellsAll bool
	// Quiet reports that what containerd passes counts, whoever asks it: it is not asked for
	// more than it must be.
	Quiet bool
	// Look is a look of the oracle while the client is at work. With an inventory from
	// before it waits until nothing more is there, or what there is stays.
	Look func(before *inventory.Inventory) harness.Look
	// Dial connects to an address in the world's network namespace.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
	// Belongings looks at what lies in containerd's directories for some ids.
	Belongings func(of ...string) (inventory.Belongings, error)
}

// Lister is a client whose API lists what there is.
type Lister interface {
	// List asks for it, and hears why where it cannot.
	List(ctx context.Context) *harness.CRIListed
	// TryNames asks whether the names that the workload had can be used again.
	TryNames(ctx context.Context)
}

// Relister is a client that has removed what there was, and still lists what there is: a
// call that it gave up may make something after that.
type Relister interface {
	// RelistEvery is how long it waits before each time; 0 where it gave up no such call.
	RelistEvery() time.Duration
	// Relist removes what no answered call has made, and reports whether there was any.
	// What it cannot remove is there for all to see.
	Relist(ctx context.Context) bool
}

// Session is what every client works with: it makes the calls, each with its own deadline
// and written down.
type Session struct {
	Params
	// CallTimeout is how long a call may take.
	CallTimeout time.Duration

	// steps are the steps of the workload's script, or of its lifecycle.
	steps script.Script

	mu      sync.Mutex
	current *flight
	inits   map[string]initOf
}

// NewSession begins the work of a client.
func NewSession(p Params) *Session {
	steps, _ := p.Case.Workload.Steps() // an error is a problem of the case
	return &Session{Params: p, CallTimeout: p.Case.Workload.CallTimeout, steps: steps}
}

// flight is a call in flight.
type flight struct {
	cancel func()
	done   chan struct{}
}

// InFlight is the call that runs now: cancel ends its context, as a client does that goes
// away, and done is closed when it has ended. done is nil where there is none.
func (s *Session) InFlight() (cancel func(), done <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.current == nil {
		return nil, nil
	}
	return s.current.cancel, s.current.done
}

// stepKey is the key of a context's step.
type stepKey struct{}

// OfStep is a context for the calls of a script's step, by its number from 1.
func OfStep(ctx context.Context, n int) context.Context { return context.WithValue(ctx, stepKey{}, n) }

// Call runs f as one call of the client. Its error is an *callerr.Error.
func (s *Session) Call(ctx context.Context, verb, of string, f func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, s.CallTimeout)
	defer cancel()
	fl := &flight{cancel: cancel, done: make(chan struct{})}
	s.fly(nil, fl)
	c := harness.Call{Who: "client", Verb: verb, Of: of, At: time.Now()}
	err := f(ctx)
	s.Note(ctx, &c, err)
	close(fl.done)
	s.fly(fl, nil)
	if err != nil {
		return &callerr.Error{Call: verb, Err: err}
	}
	return nil
}

// Note writes down a call that has ended, by the client's own time.
func (s *Session) Note(ctx context.Context, c *harness.Call, err error) {
	c.Took, c.Err = time.Since(c.At), callerr.Of(err)
	c.Unprovoked = err != nil && !s.Fired() && !s.Overtaken(err)
	if c.Step, _ = ctx.Value(stepKey{}).(int); c.Step > 0 {
		c.Response = harness.ResponseOf(c.Err)
	}
	if c.Step > 0 && s.Case.Workload.Scripted() {
		// The model judges every response of the task API, and a restart by the script breaks
		// connections.
		restarted := Disconnected(err) && s.steps.Uses("restart")
		judged := s.Case.Workload.Modelled() && (c.Response != harness.Lost || c.Verb == "wait")
		c.Unprovoked = c.Unprovoked && !judged && !restarted
	}
	s.Record.Call(*c)
}

// Disconnected reports whether a call has failed because the connection broke: containerd
// has ended, or the client's own connection to it was closed.
func Disconnected(err error) bool {
	return err != nil && slices.Contains([]codes.Code{codes.Unavailable, codes.Canceled}, callerr.Code(err))
}

// ComesBack reports whether the client makes a call again that has failed. It has lost
// its connection; or a fault has happened, and the error says nothing about the state of
// the object.
func (s *Session) ComesBack(err error) bool {
	says := errdefs.IsNotFound(err) || errdefs.IsFailedPrecondition(err) || errdefs.IsAlreadyExists(err)
	return Disconnected(err) || err != nil && !says && s.Fired()
}

// fly makes another call the one in flight; where was is given it must be that.
func (s *Session) fly(was, is *flight) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if was == nil || s.current == was {
		s.current = is
	}
}

// Overtaken reports whether a call has failed because somebody else has been quicker to
// delete: a containerd that was started.
func (s *Session) Overtaken(err error) bool {
	return errdefs.IsNotFound(err) && s.steps.Uses("restart")
}
