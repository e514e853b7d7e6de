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

// hogs is the memory that an OOM-killed payload allocates, as a multiple of its limit. If
// no limit is in force, the allocation succeeds, and the payload ends in another way.
const hogs = 2

// hogFile is the suffix of the file that a payload waits for before its child allocates.
const hogFile = ".hog"

// oomTimeout is the time until the kernel must have killed a child, on a loaded machine.
// It takes some 20 ms.
const oomTimeout = 10 * time.Second

// KillChild lets a child of a container's payload run out of memory. It waits until the
// payload has noted the kill, and until containerd has reported it. The container still
// runs then, so that its cgroup exists, from which its shim learns of the kill.
func (s *Session) KillChild(ctx context.Context, i *harness.Instance) {
	if i.Spec.OOM != harness.OOMChild {
		return
	}
	s.tell(ctx, i.Name, hogFile, "run out of memory")
	noted, cancel := context.WithTimeout(ctx, oomTimeout)
	defer cancel()
	err := poll.Until(noted, lookEvery, func() (bool, error) {
		own, err := s.Payload(i.Name)
		return err == nil && (!own.ChildAt.IsZero() || own.Exited) || s.Ended(i.ID, ""), nil
	})
	if err == nil && s.Hogged(i) { // otherwise the judge reports what happened
		AwaitEvent(ctx, s.Events, inventory.Ref{ID: i.ID}, event.TopicOOM)
		i.OOMKills = s.OOMKills(i.ID)
	}
}

// AwaitOOM waits for the OOM event of a container with an OOM-killed init. Its cgroup
// exists until the deletion. A shim that looks for it later finds nothing to report.
func (s *Session) AwaitOOM(ctx context.Context, i *harness.Instance) {
	if i.Spec.OOM == harness.OOMInit && s.Hogged(i) {
		AwaitEvent(ctx, s.Events, inventory.Ref{ID: i.ID}, event.TopicOOM)
		i.OOMKills = s.OOMKills(i.ID)
	}
}

// Hogged reports whether a container's payload or its child has begun to exceed its
// memory limit. If it was killed before that, there is no OOM kill to report.
func (s *Session) Hogged(i *harness.Instance) bool {
	own, err := s.Payload(i.Name)
	return err == nil && !own.HoggedAt.IsZero()
}

// Ended reports whether there is an exit event of a container's init, or of an exec in
// it.
func (s *Session) Ended(id, exec string) bool {
	return slices.ContainsFunc(s.Events.Events(), func(e event.Task) bool {
		return e.Container == id && e.Topic == event.TopicExit && e.Exec == exec
	})
}

// Limit returns the limit for a container's memory, and for its memory and swap together,
// in bytes. 0 means no limit of its own.
func Limit(i *harness.Instance) int64 { return int64(i.Spec.Memory) << 20 }
