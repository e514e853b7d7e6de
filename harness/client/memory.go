package client

import (
	"context"
	"slices"
	"time"

	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/oracle/event"
	"github.com/shimquake/shimquake/oracle/inventory"
	"github.com/shimquake/shimquake/poll"
)

// hogs is how many times its limit a payload takes that is to be OOM-killed. Where no
// limit is in force it gets that, and ends otherwise.
const hogs = 2

// hogFile is the suffix of the file that a payload waits for until its child takes too
// much.
const hogFile = ".hog"

// oomPatience is how long it may take until a child has taken too much and is killed, on
// a machine that has other things to do. It takes some 20 ms.
const oomPatience = 10 * time.Second

// KillChild has a child of a container's payload run out of memory, and waits until the
// payload has noted that and containerd has told of it: both while the container runs, so
// that its cgroup, of which its shim learns it, is there.
func (s *Session) KillChild(ctx context.Context, i *harness.Instance) {
	if i.Spec.OOM != harness.OOMChild {
		return
	}
	s.tell(ctx, i.Name, hogFile, "run out of memory")
	noted, cancel := context.WithTimeout(ctx, oomPatience)
	defer cancel()
	err := poll.Until(noted, lookEvery, func() (bool, error) {
		own, err := s.Payload(i.Name)
		return err == nil && (!own.ChildAt.IsZero() || own.Exited) || s.Ended(i.ID, ""), nil
	})
	if err == nil && s.Hogged(i) { // else what has become of it is the judge's business
		AwaitEvent(ctx, s.Events, inventory.Ref{ID: i.ID}, event.TopicOOM)
		i.OOMKills = s.OOMKills(i.ID)
	}
}

// AwaitOOM waits for the event of a container that has ended because its init was
// OOM-killed. Until it is deleted its cgroup is there: a shim that looks for it after
// that has nothing to tell.
func (s *Session) AwaitOOM(ctx context.Context, i *harness.Instance) {
	if i.Spec.OOM == harness.OOMInit && s.Hogged(i) {
		AwaitEvent(ctx, s.Events, inventory.Ref{ID: i.ID}, event.TopicOOM)
		i.OOMKills = s.OOMKills(i.ID)
	}
}

// Hogged reports whether a container's payload, or its child, has begun to take more
// memory than it may have: of one that was killed before nobody tells of an OOM kill.
func (s *Session) Hogged(i *harness.Instance) bool {
	own, err := s.Payload(i.Name)
	return err == nil && !own.HoggedAt.IsZero()
}

// Ended reports whether the end of a container's init, or of an exec in it, has been told
// of.
func (s *Session) Ended(id, exec string) bool {
	return slices.ContainsFunc(s.Events.Events(), func(e event.Task) bool {
		return e.Container == id && e.Topic == event.TopicExit && e.Exec == exec
	})
}

// Limit is what the container of an instance may have of memory, and of memory and swap
// together, in bytes; 0: no limit of its own.
func Limit(i *harness.Instance) int64 { return int64(i.Spec.Memory) << 20 }
