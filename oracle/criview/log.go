package criview

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/Masterminds/semver/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	api "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// Log keeps CRI's container events in the order of their arrival. The zero value is
// ready; it may be used concurrently.
type Log struct {
	mu     sync.Mutex
	events []Event
	begun  time.Time     // when the last stream began
	err    error         // why the stream has ended
	none   bool          // the release has no container events
	grown  chan struct{} // closed when an event is added
}

// Heard is the content of a Log.
type Heard struct {
	Events []Event
	// None is set if the release has no container events.
	None bool
	// Since is the beginning of the last stream, and Err the reason for its end.
	Since time.Time
	Err   error
}

// BroadcastsIn reports whether a release, such as "v2.4.2", sends each event to all
// clients of GetContainerEvents. Before 2.0 all clients had one channel, so only one
// client got each event (containerd#7318, done by containerd#9661). A release candidate
// counts as its release.
func BroadcastsIn(release string) bool {
	v, err := semver.NewVersion(release)
	return err == nil && v.Major() >= 2
}

// Heard returns a copy of the log.
func (l *Log) Heard() Heard {
	l.mu.Lock()
	defer l.mu.Unlock()
	return Heard{slices.Clone(l.events), l.none || l.begun.IsZero(), l.begun, l.err}
}

// Record starts to receive events, until ctx or containerd ends. containerd keeps an
// event for 5 minutes if no client listens (internal/eventq), so that no event is lost
// before the next Record. Releases before 1.7 have no container events, and respond with
// Unimplemented.
func (l *Log) Record(ctx context.Context, conn grpc.ClientConnInterface) error {
	at := time.Now()
	stream, err := api.NewRuntimeServiceClient(conn).GetContainerEvents(ctx, &api.GetEventsRequest{})
	if err != nil {
		return err
	}
	l.mu.Lock()
	l.begun, l.err = at, nil
	l.mu.Unlock()
	go l.listen(stream, at)
	return nil
}

func (l *Log) listen(stream api.RuntimeService_GetContainerEventsClient, begun time.Time) {
	for {
		e, err := stream.Recv()
		l.mu.Lock()
		if err != nil && l.begun.Equal(begun) {
			l.err = err
		}
		switch {
		case err == nil:
			l.events = append(l.events, eventOf(e))
		case status.Code(err) == codes.Unimplemented:
			l.none = true
		}
		if l.grown != nil {
			close(l.grown)
			l.grown = nil
		}
		l.mu.Unlock()
		if err != nil {
			return
		}
	}
}

// Await waits until done returns true for the log, the stream has ended, or ctx ends.
func (l *Log) Await(ctx context.Context, done func(Heard) bool) {
	for {
		l.mu.Lock()
		if l.grown == nil {
			l.grown = make(chan struct{})
		}
		grown := l.grown
		l.mu.Unlock()
		if h := l.Heard(); h.None || done(h) {
			return
		}
		select {
		case <-grown:
		case <-ctx.Done():
			return
		}
	}
}
