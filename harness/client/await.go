package client

import (
	"context"
	"time"

	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/oracle"
)

// eventPatience is how long the client waits for an event that must come. One that does
// not come is the judge's business.
const eventPatience = 2 * time.Second

// AwaitEvent waits for an event of a container's init process.
func AwaitEvent(ctx context.Context, log *oracle.EventLog, id, topic string) {
	patience := time.NewTimer(eventPatience)
	defer patience.Stop()
	for {
		events, more := log.Grown()
		for _, e := range events {
			if e.Container == id && e.Topic == topic && e.Exec == "" {
				return
			}
		}
		select {
		case <-more:
		case <-patience.C:
			return
		case <-ctx.Done():
			return
		}
	}
}

func (s *Session) awaitEvent(ctx context.Context, id, topic string) {
	AwaitEvent(ctx, s.Events, id, topic)
}

// AwaitExit waits for the TaskExit event. dockerd and CRI act on the event and not on
// Wait: a shim wakes those who wait before it sends the event, so that a client that
// deletes immediately can see the delete event first (seen on v2.4.2).
func (s *Session) AwaitExit(ctx context.Context, id string) { s.awaitEvent(ctx, id, oracle.TopicExit) }

// AwaitCreated waits until tasks whose Create has succeeded are reported. An event that a
// shim has not sent yet dies with the shim, so without this it would be luck whether one
// that is killed when the task is created has sent it (seen on v2.4.2, once in ten runs
// on a machine under load).
func (s *Session) AwaitCreated(ctx context.Context, all []*harness.Instance) {
	for _, i := range all {
		s.awaitEvent(ctx, i.ID, oracle.TopicCreate)
	}
}

// AwaitStarted waits until containers whose Start has succeeded run: until their payloads
// do, and it is reported.
func (s *Session) AwaitStarted(ctx context.Context, all []*harness.Instance) {
	for _, i := range all {
		s.awaitPayload(ctx, i)
		s.awaitEvent(ctx, i.ID, oracle.TopicStart)
	}
}

// Restarts reports whether containerd is restarted in the midst of the lifecycle of the
// workload.
func (s *Session) Restarts() bool { return s.Case.Workload.Restart }

// RestartNow restarts containerd and waits until it answers. That it does not is the
// judge's business.
func (s *Session) RestartNow(ctx context.Context) {
	s.Record.Failed("client", "containerd restarted", s.Restart(ctx))
}
