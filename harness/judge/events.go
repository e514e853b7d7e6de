package judge

import (
	"slices"
	"time"

	"github.com/shimquake/shimquake/failpoints"
	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/oracle/check"
	"github.com/shimquake/shimquake/oracle/event"
	"github.com/shimquake/shimquake/oracle/fact"
	"github.com/shimquake/shimquake/oracle/finding"
	"github.com/shimquake/shimquake/oracle/residue"
)

// events: create, start, exit and delete of each container and sandbox arrive once and in
// order. So do the events of each exec. An event may be lost if the harness was not
// subscribed. An event has the time of its shim's first attempt to send it. An OOM event
// arrives if the kernel OOM-killed a process of the container, and only then. No event is
// about a process that never started.
func (known excuses) events(h *run) (found []finding.Finding, _ []harness.Problem) {
	if !looked(h) {
		return nil, nil
	}
	return slices.Concat(known.lifeEvents(h), known.execEvents(h), oomEvents(h), stampedLate(h), ofRefused(h)), nil
}

// lifeEvents returns the findings about the events of containers and sandboxes.
func (known excuses) lifeEvents(h *run) []finding.Finding {
	if !settled(h) {
		return nil
	}
	var lives []check.Lifecycle
	for _, i := range h.Instances {
		if i.ID != "" {
			lives = append(lives, life(h, i))
		}
	}
	events, _, _ := h.FirstUse()
	found := slices.DeleteFunc(
		check.Events(ofWorkload(h, events), gaps(h), append(lives, sandboxLives(h)...)),
		func(f finding.Finding) bool {
			behind := []string{fact.AfterInitExit, event.TopicDelete}
			return f.Facts[fact.Topic] == event.TopicExit && slices.Contains(behind, f.Facts[fact.After]) &&
				sentAgain(h, f)
		})
	now := conditions(h, h.After.At)
	for n, f := range found {
		if lastOfShim(h, f.Subject.ID) || slices.Contains(now.Happened, residue.ShimKilled) && shimDeleted(h, f.Subject.ID) {
			found[n].Facts[fact.Last] = fact.Yes
		}
	}
	return residue.Mark(known, circumstances(h, found), now)
}

// HasDueEvents reports whether a task event that is due has not arrived. The runner waits
// for it.
func HasDueEvents(h harness.History, known []residue.Known) bool {
	r := runOf(&h)
	found := excuses(known).lifeEvents(r)
	if looked(r) {
		found = slices.Concat(found, excuses(known).execEvents(r), oomEvents(r))
	}
	return slices.ContainsFunc(finding.Violations(found), func(f finding.Finding) bool {
		return slices.Contains([]string{fact.Missing, fact.NotSentAgain}, f.Facts[fact.Event])
	})
}

// ofWorkload returns the events that are not about bystanders. Rule bystanders judges the
// others.
func ofWorkload(h *run, events []event.Task) []event.Task {
	if len(h.Bystanders) == 0 {
		return events
	}
	return slices.DeleteFunc(slices.Clone(events), func(e event.Task) bool {
		return slices.ContainsFunc(h.Bystanders, func(b harness.Bystander) bool { return b.ID == e.Container })
	})
}

// life returns which events of a container must have arrived, and with which pid and
// times.
func life(h *run, i harness.Instance) check.Lifecycle {
	l := check.Lifecycle{
		Namespace: h.namespace, Container: i.ID, PID: int(i.PID), Begun: i.Begun, Created: i.Created,
		Started: i.Started, Deleted: i.Deleted, Told: acknowledgedWindows(h, i.ID),
	}
	l.NotBefore, l.NotAfter = process{h, i, nil}.exitWindow()
	if i.Payload.Runs > 0 {
		l.Exited, l.ExitedFrom = exitDue(h, i), endOf(h, i)
		if l.ExitedFrom.IsZero() {
			l.ExitedFrom = l.NotBefore
		}
	}
	l.SentBy = map[string]time.Time{
		event.TopicCreate: sentAgainBy(h, i, l.Begun, l.Created),
		event.TopicStart:  sentAgainBy(h, i, l.Begun, l.Started),
		event.TopicExit:   sentAgainBy(h, i, l.ExitedFrom, l.Exited),
	}
	return l
}

// sandboxLives returns the same for CRI's sandboxes, which have the events of a
// container. The exit of a sandbox is due unless a fault broke a call, or killed a
// process other than containerd. After such a fault CRI may report a lost sandbox as
// stopped. No delete is due, because CRI asks the shim to exit at that time.
func sandboxLives(h *run) (lives []check.Lifecycle) {
	if h.CRI == nil {
		return nil
	}
	for _, d := range h.CRI.Done {
		if d.Verb != "RunPodSandbox" {
			continue
		}
		l := check.Lifecycle{
			Namespace: h.namespace, Container: d.ID, Begun: firstCall(h, d.Verb), Created: d.At, Started: d.At,
			Told: acknowledgedWindows(h, d.ID),
		}
		if stopped, ok := h.CRI.DoneAt("StopPodSandbox", d.ID); ok && !brokenOrKilled(h, h.After.At) {
			l.Exited, l.ExitedFrom = stopped, d.At
		}
		lives = append(lives, l)
	}
	return lives
}

// firstCall returns when the client made its first call of a verb, or the beginning of
// the case.
func firstCall(h *run, verb string) time.Time {
	for _, c := range h.Calls {
		if c.Verb == verb {
			return c.At
		}
	}
	return h.Began
}

// shimDeleted reports whether a shim carried out the Delete of a container. If it died
// afterwards, its unsent events were lost.
func shimDeleted(h *run, id string) bool {
	return slices.ContainsFunc(h.Hits, func(hit failpoints.Hit) bool { return isShimDelete(hit) && hit.ID == id })
}

// lastOfShim reports whether the delete of a container was the last event of its shim
// before containerd asked it to exit. Without a probe in the shim, the last delete of a
// pod is that of its sandbox. In a group it is that of the container that was deleted
// last.
func lastOfShim(h *run, id string) bool {
	last, shim := map[int]string{}, 0 // by shim
	for _, hit := range h.Hits {
		if isShimDelete(hit) && !hit.Time.After(h.After.At) {
			last[hit.PID] = hit.ID
			if hit.ID == id {
				shim = hit.PID
			}
		}
	}
	w := h.Case.Workload
	switch {
	case shim != 0:
		return last[shim] == id
	case w.API == harness.CRI:
		_, ok := processOf(h, id, "")
		return !ok
	case !w.Grouped || len(h.Instances) == 0:
		return true
	}
	of := slices.MaxFunc(h.Instances, func(a, b harness.Instance) int { return a.Deleted.Compare(b.Deleted) })
	return of.ID == id
}

// isShimDelete reports whether a shim carried out the Delete of a container.
func isShimDelete(hit failpoints.Hit) bool {
	return hit.Point == "rpc:shim:Task.Delete:exit" && hit.ExecID == "" && hit.Err == ""
}

// ofRefused returns the events about processes that never started, because their command
// does not exist. It returns none after a fault.
func ofRefused(h *run) (found []finding.Finding) {
	if brokenOrKilled(h, h.After.At) {
		return nil
	}
	begun := []string{event.TopicCreate, event.TopicStart, event.TopicExecStart, event.TopicExit}
	events, _, _ := h.FirstUse()
	for _, p := range processes(h) {
		for _, e := range events {
			if p.isAbsent() && p.i.ID != "" && p.isOf(e) && slices.Contains(begun, e.Topic) {
				found = append(found, ofEvent(e, fact.Facts{fact.Event: fact.OfRefused, fact.Topic: e.Topic}))
			}
		}
	}
	return found
}

// isOf reports whether an event is about the process.
func (p process) isOf(e event.Task) bool { return e.Container == p.i.ID && e.Exec == p.exec() }

// ofEvent returns a finding about an event that arrived.
func ofEvent(e event.Task, fs fact.Facts) finding.Finding {
	return finding.Finding{Invariant: finding.Event, Class: finding.ClassEvent, Facts: ofExec(e.Exec, fs),
		Subject: finding.Subject{Namespace: e.Namespace, ID: e.Container, Exec: e.Exec, PID: e.PID}}
}
