package client

import (
	"context"
	"slices"
	"time"

	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/oracle/event"
)

// eventTimeout is the timeout for an event that must come. It is longer than the time
// after which a shim sends an event again that containerd did not accept (sendAgainIn of
// the judge). The judge reports a missing event.
const eventTimeout = 3 * time.Second

// AwaitEvent waits for an event about a container's init process.
func (s *Session) AwaitEvent(ctx context.Context, id, topic string) {
	ctx, cancel := context.WithTimeout(ctx, eventTimeout)
	defer cancel()
	s.Events.Await(ctx, func(events []event.Task) bool {
		return slices.ContainsFunc(events, func(e event.Task) bool {
			return e.Container == id && e.Namespace == s.Namespace && e.Topic == topic && e.Exec == ""
		})
	})
}

// AwaitExec waits for an event about any exec in a container. It takes no exec id,
// because CRI does not return one.
func AwaitExec(ctx context.Context, log *event.Log, id, topic string) {
	ctx, cancel := context.WithTimeout(ctx, eventTimeout)
	defer cancel()
	log.Await(ctx, func(events []event.Task) bool {
		return slices.ContainsFunc(events, func(e event.Task) bool {
			return e.Container == id && e.Topic == topic && e.Exec != ""
		})
	})
}

// LearnExec sets the id and the pid of the only exec in a container from its events.
func LearnExec(e *harness.Exec, container string, events []event.Task) {
	for _, is := range events {
		if is.Container != container || is.Exec == "" || e.ID != "" && is.Exec != e.ID {
			continue
		}
		if e.ID = is.Exec; e.PID == 0 {
			e.PID = uint32(is.PID)
		}
	}
}

// AwaitExit waits for the TaskExit event of a container. dockerd and CRI also act on this
// event, and not on the response of Wait. A shim responds to Wait before it sends the
// event. A client that deletes at once can therefore receive the delete event first (seen
// on v2.4.2).
func (s *Session) AwaitExit(ctx context.Context, id string) {
	s.AwaitEvent(ctx, id, event.TopicExit)
}

// AwaitCreated waits for the create events of created tasks. If a fault killed a shim
// before it sent its event, the event would be lost. Without this wait, that happened in
// one of ten runs on a loaded machine (v2.4.2).
func (s *Session) AwaitCreated(ctx context.Context, all []*harness.Instance) {
	for _, i := range all {
		s.AwaitEvent(ctx, i.ID, event.TopicCreate)
	}
}

// AwaitStarted waits until the payloads of started containers run, and until their start
// events have arrived.
func (s *Session) AwaitStarted(ctx context.Context, all []*harness.Instance) {
	for _, i := range all {
		s.awaitPayload(ctx, i)
		s.AwaitEvent(ctx, i.ID, event.TopicStart)
	}
}

// RestartNow restarts containerd. It records the files and mounts of the running
// containers before and after the restart.
func (s *Session) RestartNow(ctx context.Context, running ...string) error {
	s.RecordBelongings(running...)
	err := s.Restart(ctx)
	if err == nil {
		s.RecordBelongings(running...)
	}
	return err
}

// Soak waits for a time, and records the files and mounts of the running containers
// before and after it.
func (s *Session) Soak(ctx context.Context, d time.Duration, running ...string) {
	s.RecordBelongings(running...)
	select {
	case <-time.After(d):
		s.RecordBelongings(running...)
	case <-ctx.Done():
	}
}

// IDs returns the ids of containers.
func IDs(all []*harness.Instance) (ids []string) {
	for _, i := range all {
		ids = append(ids, i.ID)
	}
	return ids
}

// RecordBelongings records the files and mounts of running containers and sandboxes.
func (s *Session) RecordBelongings(of ...string) {
	if len(of) == 0 {
		return
	}
	b, err := s.Belongings(of...)
	if err != nil {
		s.Record.Failed("oracle", "cannot list the files of running containers", err)
		return
	}
	s.Record.Set(func(h *harness.History) { h.Belongings = append(h.Belongings, b) })
}

// NoteGone notes which containers have no process left before the client removes them.
// containerd may have reported their exits to no client. NoteGone first waits until
// containerd is up, because its recovery may still end processes.
func (s *Session) NoteGone(ctx context.Context, all []*harness.Instance) {
	if _, _, err := s.Connect(ctx); err != nil {
		return // the removal that follows reports it
	}
	for _, i := range all {
		if i.ID != "" && len(s.PIDs(i.ID)) == 0 {
			i.Gone = time.Now()
		}
	}
}
