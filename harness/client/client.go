// Package client has the common parts of containerd's clients. Each client has a folder
// below this one: task works as dockerd does, cri as kubelet does. A client goes
// through a workload's lifecycle, retries as those two do, and records its calls and
// the responses. It injects no faults, and judges nothing.
package client

import (
	"context"
	"fmt"
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
	// Run goes through the lifecycle. Then it removes everything, and retries a failed
	// removal until the deadline. It returns the error of the last attempt, or nil.
	Run(ctx context.Context) error
	// Reuse uses the first id once more, without a fault, and returns an error if that does
	// not work. If briefly is set, it skips the steps that a leak cannot break.
	Reuse(ctx context.Context, briefly bool) (harness.Use, error)
	// Instances returns all containers that the workload asked for. They belong to the
	// client, and callers must not change them.
	Instances() []*harness.Instance
	// Shares reports whether the shim with this id serves all containers of the workload.
	Shares(shim string) bool
}

// Params are the parameters of a client.
type Params struct {
	Case harness.Case
	// Connect waits until containerd responds, and returns connections to it.
	Connect func(context.Context) (*containerd.Client, *grpc.ClientConn, error)
	// Restart restarts containerd and waits until it responds. The judge reports a
	// failure. ContainerdExited reports whether containerd has ever exited, for any
	// reason.
	Restart          func(context.Context) error
	ContainerdExited func() bool
	// Install replaces the programs of containerd. The next start of containerd runs them.
	Install func(script.Installation) error
	// State is called when the workload reaches a state, such as running. It injects the
	// faults for that state. Fired reports whether any fault has happened.
	State func(ctx context.Context, state string)
	Fired func() bool
	// StoodStill, if not nil, returns for how long the world's processes stood still so far.
	StoodStill func() time.Duration
	// ReusePID starts an idle process that has the given pid. The returned function
	// ends the process, and reports whether a signal had already killed it.
	ReusePID func(ctx context.Context, pid int) (end func(context.Context) (hit bool, err error), err error)
	// IsForeign reports whether an id belongs to another client: for the workload's client
	// to a bystander, a container that no fault targets. The client must not touch it.
	IsForeign func(id string) bool
	// Beside is set for the client of a bystander.
	Beside *Beside
	// OnNewID, if not nil, is called when the client learns the id of its first container or
	// of its sandbox.
	OnNewID func()
	// Namespace is containerd's namespace of the workload.
	Namespace string
	// Runtime is the runtime of the workload's containers. OtherRuntime is the runtime for
	// the second use of the first id.
	Runtime, OtherRuntime string
	// Truth is the folder in which payloads write their records. FIFOs is the folder for the
	// FIFOs of their stdio.
	Truth, FIFOs *foreign.Dir
	// Logger is the path of the payload's program. A shim can also run it as a binary://
	// logger.
	Logger string
	// OOMKills returns the kernel's counter of OOM kills for the cgroup of an id, or nil if
	// it cannot be read. The cgroup exists until the container is deleted.
	OOMKills func(id string) *int
	// PIDs returns the processes in the cgroup of an id.
	PIDs   func(id string) []int
	Events *event.Log
	Record *record.Recorder
	// CRIEvents has CRI's container events. It is nil without CRI.
	CRIEvents *criview.Log
	// BroadcastsCRIEvents is set if CRI sends each container event to all clients. In older
	// releases each event goes to only one client.
	BroadcastsCRIEvents bool
	// NoExtraCalls is set if a fault counts how often containerd executes a statement,
	// for any caller. The client then makes no calls beyond the workload.
	NoExtraCalls bool
	// Inspect takes an inventory while the client still runs. If before is not nil,
	// Inspect first waits until no objects exist that before lacks, or until they no
	// longer change.
	Inspect func(before *inventory.Inventory) harness.Inspection
	// Dial connects to an address in the network namespace of containerd.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
	// Belongings returns the files of these ids in containerd's directories.
	Belongings func(of ...string) (inventory.Belongings, error)
}

// Beside describes a bystander. Its payload writes lines until its client ends it. Each
// step of its client has CallTimeout.
type Beside struct {
	// Name is the name of its container and of its pod. It is also the prefix of its files.
	Name string
	// ID is containerd's id of its container. With CRI containerd chooses it.
	ID string
	// Told records a response to a status call.
	Told func(harness.BystanderTold)
}

// Lister is a client with an API that lists pods and containers.
type Lister interface {
	// List returns the inventory, or why it is not available.
	List(ctx context.Context) *harness.CRIListed
	// TryNames checks whether the names of the workload can be used again.
	TryNames(ctx context.Context)
}

// A LateRemover is a client that keeps listing objects after it has removed everything. A
// create call that timed out may still create an object later.
type LateRemover interface {
	// RelistEvery returns the time between two lists, or 0 if no such call timed out.
	RelistEvery() time.Duration
	// Relist removes the objects that only such a call can have created, and reports whether
	// there were any. If it cannot remove an object, the judge reports that object as a
	// leak.
	Relist(ctx context.Context) bool
}

// Session is the part that all clients share. It makes the calls, each with a deadline,
// and records them.
type Session struct {
	Params
	// CallTimeout is the timeout of each call.
	CallTimeout time.Duration

	// steps are the steps of the workload's script, or the default steps.
	steps script.Script

	mu      sync.Mutex
	current *flight
	inits   map[string]initOf
}

// NewSession returns the session of a client.
func NewSession(p Params) *Session {
	steps, _ := p.Case.Workload.Steps() // Case.Check reports the error
	return &Session{Params: p, CallTimeout: p.Case.Workload.CallTimeout, steps: steps}
}

// Name returns the name of the workload's n-th container.
func (s *Session) Name(n int) string {
	if s.Beside != nil {
		return s.Beside.Name
	}
	return fmt.Sprintf("c%d", n)
}

// KeepsRunning reports whether a container runs until the client lets it end.
func (s *Session) KeepsRunning(i *harness.Instance) bool {
	return s.Beside != nil || s.Case.KeepsRunning(i)
}

// flight is a call in flight.
type flight struct {
	cancel func()
	done   chan struct{}
}

// InFlight returns the call in flight. The function cancel cancels its context, as if the
// client went away. done is closed when the call returns. Both are nil if there is no
// call.
func (s *Session) InFlight() (cancel func(), done <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.current == nil {
		return nil, nil
	}
	return s.current.cancel, s.current.done
}

// stepKey is the context key for the number of a step.
type stepKey struct{}

// WithStep returns a context for the calls of the script's n-th step, from 1. Call and
// Note record the number.
func WithStep(ctx context.Context, n int) context.Context {
	return context.WithValue(ctx, stepKey{}, n)
}

// StepOf returns the number of the context's step, or 0.
func StepOf(ctx context.Context) int {
	n, _ := ctx.Value(stepKey{}).(int)
	return n
}

// Over returns why a context has ended, or nil. The timer of a deadline can be late, but
// gRPC compares the deadline with the clock before it sends a request.
func Over(ctx context.Context) error {
	if end, ok := ctx.Deadline(); ok && ctx.Err() == nil && !time.Now().Before(end) {
		return context.DeadlineExceeded
	}
	return ctx.Err()
}

// CheckTime returns an error if a call cannot be made, because its context has ended.
// Such a call asked nothing of containerd, so it is recorded for people only.
func (s *Session) CheckTime(ctx context.Context, verb, of string) error {
	over := Over(ctx)
	if over == nil {
		return nil
	}
	s.Record.Note("client", "%s %s: not made, because its time was over", verb, of)
	return &callerr.Error{Call: verb, Err: over}
}

// Call runs f as one call of the client, and records it. Its error is a *callerr.Error.
func (s *Session) Call(ctx context.Context, verb, of string, f func(context.Context) error) error {
	if err := s.CheckTime(ctx, verb, of); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, s.CallTimeout)
	defer cancel()
	fl := &flight{cancel: cancel, done: make(chan struct{})}
	s.setInFlight(nil, fl)
	still := func() time.Duration { return 0 }
	if s.StoodStill != nil {
		still = s.StoodStill
	}
	c := harness.Call{Who: "client", Verb: verb, Of: of, At: time.Now(), Still: -still()}
	err := f(ctx)
	c.Still += still()
	s.Note(ctx, &c, err)
	close(fl.done)
	s.setInFlight(fl, nil)
	if err != nil {
		return &callerr.Error{Call: verb, Err: err}
	}
	return nil
}

// Note records a finished call that began at c.At.
func (s *Session) Note(ctx context.Context, c *harness.Call, err error) {
	c.Took, c.Err = time.Since(c.At), callerr.Of(err)
	c.Unprovoked = err != nil && !s.Fired() && !s.DeletedByRestart(err)
	if c.Step = StepOf(ctx); c.Step > 0 {
		c.Response = harness.ResponseOf(c.Err)
	}
	if c.Step > 0 && s.Case.Workload.Scripted() {
		// The judge compares each response that arrived with the script's model, so such an
		// error needs no other check. A restart step breaks connections, and a cancel step
		// breaks a call.
		broken := Disconnected(err) && (s.steps.Uses("restart") || s.steps.Uses("cancel"))
		judged := c.Response != harness.Lost || c.Verb == "wait"
		c.Unprovoked = c.Unprovoked && !judged && !broken
	}
	s.Record.Call(*c)
}

// Disconnected reports whether a call failed because containerd exited, or because the
// client closed its connection.
func Disconnected(err error) bool {
	return err != nil && slices.Contains([]codes.Code{codes.Unavailable, codes.Canceled}, callerr.Code(err))
}

// ShouldRetry reports whether the client retries a failed call. It retries after a lost
// connection. After a fault it also retries other errors, except NotFound,
// FailedPrecondition and AlreadyExists: these describe the state of the object.
func (s *Session) ShouldRetry(err error) bool {
	says := errdefs.IsNotFound(err) || errdefs.IsFailedPrecondition(err) || errdefs.IsAlreadyExists(err)
	return Disconnected(err) || err != nil && !says && s.Fired()
}

// setInFlight changes the call in flight to next. If expected is not nil, it changes
// nothing unless expected is still in flight.
func (s *Session) setInFlight(expected, next *flight) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if expected == nil || s.current == expected {
		s.current = next
	}
}

// DeletedByRestart reports whether a call failed because a restarted containerd had
// already deleted the object.
func (s *Session) DeletedByRestart(err error) bool {
	return errdefs.IsNotFound(err) && s.steps.Uses("restart")
}
