// Package client has the common parts of containerd's clients. Each client has a folder
// below this one: task works as dockerd does, cri as kubelet does. A client goes
// through a workload's lifecycle, retries as those two do, and records its calls and
// the responses. It injects no faults, and judges nothing.
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

// Client is a client of containerd with a workload.
type Client interface {
	// Run goes through the lifecycle. Then it removes everything, and retries until the
	// deadline. It returns the error of the last attempt to remove.
	Run(ctx context.Context) error
	// Reuse uses the first id once more, without a fault, and returns an error if that does
	// not work. Briefly leaves out the steps that no fault can break.
	Reuse(ctx context.Context, briefly bool) (harness.Use, error)
	// Instances returns all containers that the workload asked for. They belong to the
	// client, and callers must not change them.
	Instances() []*harness.Instance
	// Shares reports whether a shim of that id also serves the workload's other containers.
	Shares(shim string) bool
}

// Params are the parameters of a client.
type Params struct {
	Case harness.Case
	// Up waits until containerd responds, and returns its clients.
	Up func(context.Context) (*containerd.Client, *grpc.ClientConn, error)
	// Restart restarts containerd and waits until it responds. The judge reports a failure.
	// Died reports whether containerd has ended, for any reason.
	Restart func(context.Context) error
	Died    func() bool
	// Install replaces the programs of containerd, for its next start.
	Install func(script.Installation) error
	// State is called when the workload has reached a state: faults happen there. Fired
	// reports whether any fault has happened.
	State func(ctx context.Context, state string)
	Fired func() bool
	// StandIn starts an idle process with a pid. Its result ends that process, and reports
	// whether another process had already killed it.
	StandIn func(ctx context.Context, pid int) (end func(context.Context) (hit bool, err error), err error)
	// Spare reports whether an id belongs to a bystander, which the client must not touch.
	Spare func(id string) bool
	// Runtime is the runtime of the workload's containers. OtherRuntime is the runtime for
	// the second use of the first id.
	Runtime, OtherRuntime string
	// Truth is the world's folder for the records of payloads, and FIFOs its folder for the
	// FIFOs of their output.
	Truth, FIFOs *foreign.Dir
	// Logger is the payload's program in the world, which is also a logger for shims.
	Logger string
	// OOMKills returns the kernel's count for the cgroup of an id, or nil if it cannot be
	// read. The cgroup exists until the container is deleted.
	OOMKills func(id string) *int
	// PIDs returns the processes in the cgroup of an id.
	PIDs   func(id string) []int
	Events *event.Log
	Record *record.Recorder
	// CRIEvents has CRI's container events. It is nil without CRI.
	CRIEvents *criview.Log
	// TellsAll reports whether CRI sends all container events to each client. Otherwise a
	// client that disconnects would lose some for the others.
	TellsAll bool
	// Quiet reports that all hits of containerd count, for any caller. So the client makes
	// no calls beyond the workload.
	Quiet bool
	// Look is a look of the oracle while the client is at work. With an inventory from
	// before, it waits until nothing more exists than then, or until the rest stays.
	Look func(before *inventory.Inventory) harness.Look
	// Dial connects to an address in the world's network namespace.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
	// Belongings returns the files of some ids in containerd's directories.
	Belongings func(of ...string) (inventory.Belongings, error)
}

// Lister is a client with an API that lists pods and containers.
type Lister interface {
	// List returns the inventory, or why it is not available.
	List(ctx context.Context) *harness.CRIListed
	// TryNames checks whether the names of the workload can be used again.
	TryNames(ctx context.Context)
}

// A LateRemover is a client that keeps listing after it has removed everything. A call
// that it gave up may create something later.
type LateRemover interface {
	// RelistEvery returns the time between two lists, or 0 if the client gave up no such
	// call.
	RelistEvery() time.Duration
	// Relist removes objects that only a given-up call can have created, and reports whether
	// there were any. The oracle reports an object that it cannot remove.
	Relist(ctx context.Context) bool
}

// Session is the part that all clients share: it makes the calls, each with a deadline,
// and records them.
type Session struct {
	Params
	// CallTimeout is the timeout of each call.
	CallTimeout time.Duration

	// steps are the steps of the workload's script, or of its lifecycle.
	steps script.Script

	mu      sync.Mutex
	current *flight
	inits   map[string]initOf
}

// NewSession returns the session of a client.
func NewSession(p Params) *Session {
	steps, _ := p.Case.Workload.Steps() // an error is a problem of the case
	return &Session{Params: p, CallTimeout: p.Case.Workload.CallTimeout, steps: steps}
}

// flight is a call in flight.
type flight struct {
	cancel func()
	done   chan struct{}
}

// InFlight returns the call in flight: cancel ends its context, as for a client that goes
// away, and done is closed at its end. If there is no call, done is nil.
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

// OfStep returns a context for the calls of a script's step, by its number from 1.
func OfStep(ctx context.Context, n int) context.Context { return context.WithValue(ctx, stepKey{}, n) }

// Call runs f as one call of the client. It returns an *callerr.Error.
func (s *Session) Call(ctx context.Context, verb, of string, f func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, s.CallTimeout)
	defer cancel()
	fl := &flight{cancel: cancel, done: make(chan struct{})}
	s.setInFlight(nil, fl)
	c := harness.Call{Who: "client", Verb: verb, Of: of, At: time.Now()}
	err := f(ctx)
	s.Note(ctx, &c, err)
	close(fl.done)
	s.setInFlight(fl, nil)
	if err != nil {
		return &callerr.Error{Call: verb, Err: err}
	}
	return nil
}

// Note records a finished call, with the times of the client's clock.
func (s *Session) Note(ctx context.Context, c *harness.Call, err error) {
	c.Took, c.Err = time.Since(c.At), callerr.Of(err)
	c.Unprovoked = err != nil && !s.Fired() && !s.Overtaken(err)
	if c.Step, _ = ctx.Value(stepKey{}).(int); c.Step > 0 {
		c.Response = harness.ResponseOf(c.Err)
	}
	if c.Step > 0 && s.Case.Workload.Scripted() {
		// The model judges every response. A restart by the script breaks connections, and a
		// cancel step breaks a call.
		broken := Disconnected(err) && (s.steps.Uses("restart") || s.steps.Uses("cancel"))
		judged := c.Response != harness.Lost || c.Verb == "wait"
		c.Unprovoked = c.Unprovoked && !judged && !broken
	}
	s.Record.Call(*c)
}

// Disconnected reports whether a call failed because its connection broke: containerd
// ended, or the client closed the connection.
func Disconnected(err error) bool {
	return err != nil && slices.Contains([]codes.Code{codes.Unavailable, codes.Canceled}, callerr.Code(err))
}

// ComesBack reports whether the client retries a failed call. It does after a lost
// connection. It also does if a fault has happened, and if the error does not describe
// the state of the object.
func (s *Session) ComesBack(err error) bool {
	says := errdefs.IsNotFound(err) || errdefs.IsFailedPrecondition(err) || errdefs.IsAlreadyExists(err)
	return Disconnected(err) || err != nil && !says && s.Fired()
}

// setInFlight changes the call in flight. If was is not nil, it does so only if was is
// still in flight.
func (s *Session) setInFlight(was, is *flight) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if was == nil || s.current == was {
		s.current = is
	}
}

// Overtaken reports whether a call failed because a restarted containerd had already
// deleted the object.
func (s *Session) Overtaken(err error) bool {
	return errdefs.IsNotFound(err) && s.steps.Uses("restart")
}
