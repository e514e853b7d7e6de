package bystander

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	containerd "github.com/containerd/containerd/v2/client"
	"google.golang.org/grpc"

	"github.com/shimquake/shimquake/fixtures/payload"
	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/harness/client"
	"github.com/shimquake/shimquake/oracle/callerr"
	"github.com/shimquake/shimquake/oracle/exit"
	"github.com/shimquake/shimquake/poll"
)

// set changes the bystander's record.
func (b *one) set(change func(*harness.Bystander)) {
	b.mu.Lock()
	defer b.mu.Unlock()
	change(&b.seen)
}

// identify records a new id of the bystander, and calls Made.
func (b *one) identify(change func(*harness.Bystander)) {
	b.set(change)
	b.OnNewID()
}

// connection is a connection to containerd.
type connection struct {
	*containerd.Client
	conn *grpc.ClientConn
}

// pollTimeouts has the timeouts of status calls. A successful status call is not recorded
// as a call.
var pollTimeouts = map[string]time.Duration{
	"Get": pollTimeout, "State": pollTimeout, "ContainerStatus": pollTimeout,
	"List": listTimeout, "Kill": pollTimeout, "ListContainers": pollTimeout, "ListPodSandbox": pollTimeout,
}

// about makes a call about the bystander, and records it. The recorded duration includes
// the time for which containerd was down, which the judge subtracts.
func (b *one) about(ctx context.Context, verb string, f func(context.Context, connection) error) error {
	bound, asks := pollTimeouts[verb]
	if !asks {
		bound = b.bound
	}
	bounded, cancel := context.WithTimeout(ctx, bound)
	defer cancel()
	c := harness.Call{Who: "bystander", Verb: verb, Of: b.name, At: time.Now()}
	cl, conn, err := b.Connect(bounded)
	if err == nil {
		err = f(bounded, connection{cl, conn})
	}
	if err != nil {
		err = &callerr.Error{Call: verb, Err: err}
	}
	c.Took, c.Err, c.Unprovoked = time.Since(c.At), callerr.Of(err), err != nil && !b.Fired()
	if ctx.Err() == nil && (err != nil || !asks) {
		b.set(func(s *harness.Bystander) { s.Calls = append(s.Calls, c) })
	}
	return err
}

// told records a response, unless it equals the previous response to the same call.
func (b *one) told(is harness.BystanderTold) {
	b.set(func(s *harness.Bystander) {
		for _, was := range slices.Backward(s.Told) {
			if was.Verb == is.Verb {
				if was.At = is.At; was == is {
					return
				}
				break
			}
		}
		s.Told = append(s.Told, is)
	})
}

// reported records an exit status that the client received.
func (b *one) reported(by exit.Observer, status uint32, at time.Time) {
	b.set(func(s *harness.Bystander) {
		s.Reported = append(
			s.Reported,
			exit.Observation{Container: s.ID, Observer: by, Status: status, At: at, PID: int(s.PID)},
		)
	})
}

func (b *one) endFile() string { return b.name + ".end" }

// release lets the payload end.
func (b *one) release() error {
	b.set(func(s *harness.Bystander) { s.Released = time.Now() })
	return b.Truth.Touch(b.endFile(), 0o644)
}

// command returns the payload's command line. The payload writes lines until the end file
// exists.
func (b *one) command() []string {
	end := filepath.Join(client.MountedTruth, b.endFile())
	return []string{payload.Program, "write", strconv.Itoa(exitStatus), "-trigger", end}
}

// expect creates the file for the payload's record.
func (b *one) expect() error { return b.Truth.Touch(b.truth(), 0o666) }

// lookEvery is the time between two reads of the payload's record.
const lookEvery = 2 * time.Millisecond

// awaitPayload waits until the payload runs.
func (b *one) awaitPayload(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, lifecycleTimeout)
	defer cancel()
	err := poll.Until(ctx, lookEvery, func() (bool, error) {
		t, err := client.ReadTruth(b.Truth, b.truth())
		return err == nil && !t.ReadyAt.IsZero(), nil
	})
	if err != nil {
		return fmt.Errorf("the bystander's payload does not run: %w", err)
	}
	return nil
}
