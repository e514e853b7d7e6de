package oracle

import (
	"context"
	"slices"
	"sync"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	api "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// CRILog keeps CRI's container events in the order of their arrival. The zero value is
// ready; it may be used concurrently.
type CRILog struct {
	mu     sync.Mutex
	events []CRIEvent
	begun  bool
	none   bool          // the release has no such events
	grown  chan struct{} // closed when an event is added
}

// CRIHeard is what a CRILog has kept.
type CRIHeard struct {
	Events []CRIEvent
	// None reports that nobody has listened: the release has no such events.
	None bool
}

// Heard is a copy of what was kept.
func (l *CRILog) Heard() CRIHeard {
	l.mu.Lock()
	defer l.mu.Unlock()
	return CRIHeard{slices.Clone(l.events), l.none || !l.begun}
}

// Record listens until ctx ends or containerd does. containerd keeps events for those who
// listen later (internal/eventq, for 5 minutes), so that none is lost meanwhile. Releases
// before 1.7 have none, and say so by Unimplemented.
func (l *CRILog) Record(ctx context.Context, conn grpc.ClientConnInterface) error {
	stream, err := api.NewRuntimeServiceClient(conn).GetContainerEvents(ctx, &api.GetEventsRequest{})
	if err != nil {
		return err
	}
	l.mu.Lock()
	l.begun = true
	l.mu.Unlock()
	go l.listen(stream)
	return nil
}

func (l *CRILog) listen(stream api.RuntimeService_GetContainerEventsClient) {
	for {
		e, err := stream.Recv()
		l.mu.Lock()
		switch {
		case err == nil:
			l.events = append(l.events, criEventOf(e))
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

// Await waits until done is true of what was heard, there is nobody to hear any more, or
// ctx ends.
func (l *CRILog) Await(ctx context.Context, done func(CRIHeard) bool) {
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
