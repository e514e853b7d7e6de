package client

import (
	"context"
	"slices"
	"time"

	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/oracle/event"
	"github.com/shimquake/shimquake/poll"
)

// hogs is how much a payload allocates to be OOM-killed, as a multiple of its limit. If
// no limit is in force, the allocation succeeds, and the payload exits normally.
const hogs = 2

// hogFile is the suffix of the file that a payload waits for before its child allocates.
const hogFile = ".hog"

// oomTimeout is how long KillChild waits for the kernel to kill the child. The kernel
// takes some 20 ms, and longer on a loaded machine.
const oomTimeout = 10 * time.Second

// KillChild lets a child of a container's payload run out of memory. It waits until the
// payload has noted the kill, and until containerd has reported it. The container keeps
// running meanwhile, because its shim learns of the kill from its cgroup.
func (s *Session) KillChild(ctx context.Context, i *harness.Instance) {
	if i.Spec.OOM != harness.OOMChild {
		return
	}
	s.tell(ctx, i.Name, hogFile, "run out of memory")
	noted, cancel := context.WithTimeout(ctx, oomTimeout)
	defer cancel()
	err := poll.Until(noted, lookEvery, func() (bool, error) {
		own, err := s.Payload(i.Name)
		return err == nil && (!own.ChildAt.IsZero() || own.Exited) || s.HasExitEvent(i.ID, ""), nil
	})
	if err == nil && s.ExceededMemory(i) { // otherwise the judge reports what happened
		s.AwaitEvent(ctx, i.ID, event.TopicOOM)
		i.OOMKills = s.OOMKills(i.ID)
	}
}

// AwaitOOM waits for the OOM event of a container whose init was OOM-killed. It must come
// before the deletion, which removes the cgroup from which the shim learns of the kill.
func (s *Session) AwaitOOM(ctx context.Context, i *harness.Instance) {
	if i.Spec.OOM == harness.OOMInit && s.ExceededMemory(i) {
		s.AwaitEvent(ctx, i.ID, event.TopicOOM)
		i.OOMKills = s.OOMKills(i.ID)
	}
}

// ExceededMemory reports whether a container's payload or its child has begun to exceed
// the memory limit. If not, there is no OOM kill to wait for.
func (s *Session) ExceededMemory(i *harness.Instance) bool {
	own, err := s.Payload(i.Name)
	return err == nil && !own.HoggedAt.IsZero()
}

// HasExitEvent reports whether an exit event has come about a container's init (exec is
// "") or about an exec in the container.
func (s *Session) HasExitEvent(id, exec string) bool {
	return slices.ContainsFunc(s.Events.Events(), func(e event.Task) bool {
		return e.Container == id && e.Topic == event.TopicExit && e.Exec == exec
	})
}

// Limit returns the limit in bytes for a container's memory. The limit for memory and
// swap together is the same. 0 means no limit.
func Limit(i *harness.Instance) int64 { return int64(i.Spec.Memory) << 20 }
