package judge

import (
	"fmt"
	"slices"
	"time"

	"github.com/shimquake/shimquake/failpoints"
	"github.com/shimquake/shimquake/failpoints/probe/term"
	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/oracle/criview"
	"github.com/shimquake/shimquake/oracle/event"
	"github.com/shimquake/shimquake/oracle/fact"
	"github.com/shimquake/shimquake/oracle/finding"
)

// ooms: containerd reports an OOM kill exactly if the kernel killed a process for lack
// of memory, and CRI gives it as the reason. The kernel decides the number of reports:
// cgroup v1 notifies of each attempt to reclaim memory, and v2 counts the kills.
func ooms(h *harness.History) (found []finding.Finding, _ []harness.Problem) {
	if !looked(h) {
		return nil, nil
	}
	events, _, _ := h.FirstUse()
	heard := map[string]int{}
	for _, e := range events {
		if e.Topic != event.TopicOOM {
			continue
		}
		if heard[e.Container]++; !mayTellOOM(h, e) {
			found = append(found, finding.Finding{Invariant: finding.Event, Class: finding.ClassEvent,
				Subject: finding.Subject{Namespace: e.Namespace, ID: e.Container},
				Facts:   fact.Facts{fact.Event: fact.Untrue, fact.Topic: e.Topic}})
		}
	}
	for _, i := range h.Instances {
		if n := heard[i.ID]; n > 1 && countedByKernel(h, i) && n > *i.OOMKills {
			found = append(found, finding.Finding{Invariant: finding.Event, Class: finding.ClassEvent,
				Subject: finding.Subject{ID: i.ID, PID: int(i.PID)},
				Facts:   fact.Facts{fact.Event: fact.Repeated, fact.Topic: event.TopicOOM}})
		}
		from, since := oomKilled(h, i)
		if from.IsZero() || oomUntold(h, i) {
			continue
		}
		// CRI deletes a container as soon as it has ended. With it goes the cgroup, and a
		// shim that was too slow to look by then has nothing to tell.
		removedAtOnce := i.Spec.OOM == harness.OOMInit && h.Case.Workload.API == harness.CRI
		fs, lost := ofShim{event.TopicOOM, from, since}.lost(h, i)
		if heard[i.ID] == 0 && !removedAtOnce && lost {
			found = append(found, finding.Finding{Invariant: finding.Event, Class: finding.ClassEvent,
				Subject: finding.Subject{ID: i.ID, PID: int(i.PID)}, Facts: fs})
		}
		if heard[i.ID] > 0 {
			found = append(found, oomReason(h, i, from)...)
		}
	}
	return found, nil
}

// mayTellOOM reports whether a process of that container had taken too much memory by
// then.
func mayTellOOM(h *harness.History, e event.Task) bool {
	return slices.ContainsFunc(h.Instances, func(i harness.Instance) bool {
		at := i.Payload.HoggedAt
		return i.ID != "" && i.ID == e.Container && !at.IsZero() && !e.Seen.Before(at)
	})
}

// oomKilled is from when a process of a container can have been OOM-killed, and since
// when it surely was; the zero times: none was, or that is not known. A child's end its
// parent has noted, which lived on. An init whose record ends when it takes too much was
// killed for that, where nobody else may have done it: the container has no swap, and one
// that gets what it takes goes on and notes its exit. The kernel's own count, where it
// was read, must agree.
func oomKilled(h *harness.History, i harness.Instance) (from, since time.Time) {
	own := i.Payload
	switch {
	case own.HoggedAt.IsZero(), !mayBeCounted(i):
	case !own.ChildAt.IsZero():
		if uint32(own.ChildStatus) == killed {
			return own.HoggedAt, own.ChildAt
		}
	case i.Spec.OOM == harness.OOMInit && !own.Exited && !mayBeKilled(h, i):
		return own.HoggedAt, exitDue(h, i)
	}
	return time.Time{}, time.Time{}
}

// mayBeCounted reports whether the kernel has counted an OOM kill in a container, or
// nobody has read its count.
func mayBeCounted(i harness.Instance) bool { return i.OOMKills == nil || *i.OOMKills > 0 }

// countedByKernel reports whether the kernel's count is that of all OOM kills of a
// container, and none that was told of was sent again: with a child, its init lived on.
func countedByKernel(h *harness.History, i harness.Instance) bool {
	return h.Machine.Cgroups == "v2" && h.Case.Faultless() && i.OOMKills != nil &&
		(i.Spec.OOM == harness.OOMInit || i.Payload.Exited)
}

// oomUntold reports whether a fault may have kept a shim from telling of an OOM kill: it,
// or what it tells containerd, was held or cut off, or a statement of either was broken.
// What is refused or lost it sends again.
func oomUntold(h *harness.History, i harness.Instance) bool {
	again := []term.Action{term.Off, term.Error, term.Lose}
	return held(h, i) || slices.ContainsFunc(h.Hits, func(hit failpoints.Hit) bool {
		if hit.Fault < 0 || killedByTerm(hit.Did) {
			return false
		}
		return hit.Passed().Kind == failpoints.Stmt ||
			hit.Passed().What == forward && !slices.Contains(again, hit.Did)
	})
}

// forward is the method by which a shim tells containerd of an event.
const forward = "Events.Forward"

// oomReason: what containerd has told of an OOM kill CRI has heard, too, unless it was
// down, and gives it as the reason from then on. Where it has said so of a container that
// ran on it had written that down, and a restart does not excuse it.
func oomReason(h *harness.History, i harness.Instance, from time.Time) []finding.Finding {
	if h.CRI == nil {
		return nil
	}
	for _, s := range slices.Backward(h.CRI.Statuses) {
		if s.ID != i.ID {
			continue
		}
		said := saidOOM(h, i)
		if s.State != criview.Exited || s.Reason == criview.OOMKilled ||
			!reportedTrue(h, i, "", uint32(s.ExitCode)) || !said && downBetween(h, from, s.Asked) || broken(h, s.Seen) {
			return nil
		}
		is, want := fact.Other, fmt.Sprintf("%s, as a process of it was at %s", criview.OOMKilled, stamp(from))
		if said {
			is, want = fact.Changed, criview.OOMKilled
		}
		return []finding.Finding{about(fact.AContainer, i.ID, fact.FieldReason, is, s.Reason, want)}
	}
	return nil
}

// saidOOM reports whether CRI has said of a container that ran that it was OOM-killed.
func saidOOM(h *harness.History, i harness.Instance) bool {
	return slices.ContainsFunc(h.CRI.Statuses, func(s criview.Status) bool {
		return s.ID == i.ID && s.State == criview.Running && s.Reason == criview.OOMKilled
	})
}
