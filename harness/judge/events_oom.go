package judge

import (
	"fmt"
	"slices"
	"time"

	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/oracle/criview"
	"github.com/shimquake/shimquake/oracle/event"
	"github.com/shimquake/shimquake/oracle/fact"
	"github.com/shimquake/shimquake/oracle/finding"
)

// oomEvents returns the findings about OOM events, and about CRI's reason OOMKilled. The
// number of events depends on the kernel: cgroup v1 reports each attempt to reclaim
// memory, and v2 counts the kills.
func oomEvents(h *run) (found []finding.Finding) {
	heard := map[string]int{}
	for _, e := range h.events {
		if e.Topic != event.TopicOOM {
			continue
		}
		p, ok := processOf(h, e.Container, "")
		hogged := p.i.Payload.HoggedAt
		if heard[e.Container]++; !ok || hogged.IsZero() || e.Seen.Before(hogged) {
			f := ofEvent(e, fact.Facts{fact.Event: fact.Untrue, fact.Topic: e.Topic})
			f.Subject.Exec, f.Subject.PID = "", 0
			found = append(found, f)
		}
	}
	for _, i := range h.Instances {
		p := initOf(h, i)
		if n := heard[i.ID]; n > 1 && countedByKernel(h, i) && n > *i.OOMKills {
			found = append(found, p.find(finding.Event, finding.ClassEvent,
				fact.Facts{fact.Event: fact.Repeated, fact.Topic: event.TopicOOM}))
		}
		from, since := oomKilled(h, i)
		if from.IsZero() || toleratedOf(h, exitNoticed, i, span{}) || tolerated(h, oomSent, span{}) {
			continue
		}
		// CRI deletes the task, and with it the cgroup, as soon as the container has
		// ended. A shim that reads the cgroup later finds no OOM kill.
		removedAtOnce := i.Spec.OOM == harness.OOMInit && h.Case.Workload.API == harness.CRI
		fs, lost := due{event.TopicOOM, from, since, sentAgainBy(h, i, from, since)}.lost(h, i.ID, "")
		switch {
		case heard[i.ID] > 0:
			found = append(found, oomReason(h, i, from)...)
		case !removedAtOnce && lost:
			found = append(found, p.find(finding.Event, finding.ClassEvent, fs))
		}
	}
	return found
}

// oomKilled returns when the kernel OOM-killed a process of a container: not before from,
// and by since. Both are zero if it killed none, or if that is unknown. A payload that
// survives records the end of its child. If the record of an init ends at its memory
// limit, and nothing else may have killed it, the kernel did. The container has no swap.
// The kernel's own count must agree.
func oomKilled(h *run, i harness.Instance) (from, since time.Time) {
	own := i.Payload
	switch {
	case own.HoggedAt.IsZero(), !mayBeCounted(i):
	case !own.ChildAt.IsZero():
		if uint32(own.ChildStatus) == killed {
			return own.HoggedAt, own.ChildAt
		}
	case i.Spec.OOM == harness.OOMInit && !own.Exited && !initOf(h, i).mayBeKilled():
		return own.HoggedAt, exitDue(h, i)
	}
	return time.Time{}, time.Time{}
}

// mayBeCounted reports whether the kernel counted an OOM kill in a container, or the
// count is unknown.
func mayBeCounted(i harness.Instance) bool { return i.OOMKills == nil || *i.OOMKills > 0 }

// countedByKernel reports whether the kernel counted all OOM kills of a container, and
// the shim sent no event about one again.
func countedByKernel(h *run, i harness.Instance) bool {
	return h.Machine.Cgroups == "v2" && !tolerated(h, oneOOMEvent, span{}) && i.OOMKills != nil &&
		(i.Spec.OOM == harness.OOMInit || i.Payload.Exited)
}

// oomReason returns a finding if CRI does not report the reason OOMKilled. CRI gets the
// OOM event, too, unless containerd is down. If CRI reported the reason while the
// container ran, it had stored the reason, and a restart is no excuse.
func oomReason(h *run, i harness.Instance, from time.Time) []finding.Finding {
	if h.CRI == nil {
		return nil
	}
	said := slices.ContainsFunc(h.CRI.Statuses, func(s criview.Status) bool {
		return s.ID == i.ID && s.State == criview.Running && s.Reason == criview.OOMKilled
	})
	for _, s := range slices.Backward(h.CRI.Statuses) {
		if s.ID != i.ID {
			continue
		}
		if s.State != criview.Exited || s.Reason == criview.OOMKilled ||
			!initOf(h, i).reportedTrue(uint32(s.ExitCode)) ||
			!said && tolerated(h, oomHeard, span{from, s.Asked}) || tolerated(h, reportWritten, until(s.Seen)) {
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
