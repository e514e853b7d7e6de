package client

import (
	"context"
	"slices"
	"time"

	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/oracle/event"
	"github.com/shimquake/shimquake/oracle/inventory"
)

// eventPatience is how long the client waits for an event that must come: longer than a
// shim takes to send one again that containerd was not up for (sendAgainIn of the judge).
// One that does not come is the judge's business.
const eventPatience = 3 * time.Second

// AwaitEvent waits for an event of a container's init process, in whatever namespace
// where it names none.
func AwaitEvent(ctx context.Context, log *event.Log, of inventory.Ref, topic string) {
	ctx, cancel := context.WithTimeout(ctx, eventPatience)
	defer cancel()
	log.Await(ctx, func(events []event.Task) bool {
		return slices.ContainsFunc(events, func(e event.Task) bool {
			return e.Container == of.ID && (of.Namespace == "" || e.Namespace == of.Namespace) &&
				e.Topic == topic && e.Exec == ""
		})
	})
}

// orphanPatience is more than a containerd may take to clean up after a dead shim, which
// is 5 s (shim.cleanup of [timeouts]), before it tells of the end.
const orphanPatience = 10 * time.Second

// AwaitExitOf waits for the TaskExit event of one use of an id, whose shim has died.
func AwaitExitOf(ctx context.Context, log *event.Log, id string, pid int) {
	ctx, cancel := context.WithTimeout(ctx, orphanPatience)
	defer cancel()
	log.Await(ctx, func(events []event.Task) bool {
		return slices.ContainsFunc(events, func(e event.Task) bool { return e.IsExitOf(id, pid) })
	})
}

// AwaitExec waits for an event of an exec in a container: its id is in no answer of
// CRI's.
func AwaitExec(ctx context.Context, log *event.Log, id, topic string) {
	ctx, cancel := context.WithTimeout(ctx, eventPatience)
	defer cancel()
	log.Await(ctx, func(events []event.Task) bool {
		return slices.ContainsFunc(events, func(e event.Task) bool {
			return e.Container == id && e.Topic == topic && e.Exec != ""
		})
	})
}

// LearnExec takes the id and the pid of the only exec in a container from its events.
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

// AwaitExit waits for the TaskExit event. dockerd and CRI act on the event and not on
// Wait: a shim wakes those who wait before it sends the event, so that a client that
// deletes immediately can see the delete event first (seen on v2.4.2).
func (s *Session) AwaitExit(ctx context.Context, id string) {
	AwaitEvent(ctx, s.Events, inventory.Ref{ID: id}, event.TopicExit)
}

// AwaitCreated waits until tasks whose Create has succeeded are reported. An event that a
// shim has not sent yet dies with the shim, so without this it would be luck whether one
// that is killed when the task is created has sent it (seen on v2.4.2, once in ten runs
// on a machine under load).
func (s *Session) AwaitCreated(ctx context.Context, all []*harness.Instance) {
	for _, i := range all {
		AwaitEvent(ctx, s.Events, inventory.Ref{ID: i.ID}, event.TopicCreate)
	}
}

// AwaitStarted waits until containers whose Start has succeeded run: until their payloads
// do, and it is reported.
func (s *Session) AwaitStarted(ctx context.Context, all []*harness.Instance) {
	for _, i := range all {
		s.awaitPayload(ctx, i)
		AwaitEvent(ctx, s.Events, inventory.Ref{ID: i.ID}, event.TopicStart)
	}
}

// RestartNow restarts containerd. What the living have is looked at before and after it.
func (s *Session) RestartNow(ctx context.Context, living ...string) error {
	s.LookAtLiving(living...)
	err := s.Restart(ctx)
	if err == nil {
		s.LookAtLiving(living...)
	}
	return err
}

// Soak lets containers run for some time, and records their files and mounts before and
// after it.
func (s *Session) Soak(ctx context.Context, d time.Duration, living ...string) {
	s.LookAtLiving(living...)
	soak := time.NewTimer(d)
	defer soak.Stop()
	select {
	case <-soak.C:
		s.LookAtLiving(living...)
	case <-ctx.Done():
	}
}

// IDs are those of containers.
func IDs(all []*harness.Instance) (ids []string) {
	for _, i := range all {
		ids = append(ids, i.ID)
	}
	return ids
}

// LookAtLiving takes down what containers and sandboxes have that are to live on.
func (s *Session) LookAtLiving(of ...string) {
	if len(of) == 0 {
		return
	}
	b, err := s.Belongings(of...)
	if err != nil {
		s.Record.Failed("oracle", "what the living have is not known", err)
		return
	}
	s.Record.Has(b)
}

// SeeGone notes of which containers no process is left, before their client removes what
// there is: nobody may have heard when one ended. Containerd is up by then, and has done
// what it does when it starts.
func (s *Session) SeeGone(ctx context.Context, all []*harness.Instance) {
	if _, _, err := s.Up(ctx); err != nil {
		return // what it comes to is for others to say
	}
	for _, i := range all {
		if i.ID != "" && len(s.PIDs(i.ID)) == 0 {
			i.Gone = time.Now()
		}
	}
}
