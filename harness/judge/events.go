package judge

import (
	"slices"
	"time"

	"github.com/shimquake/shimquake/harness"
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
	return slices.Concat(known.taskEvents(h), oomEvents(h), stampedLate(h), ofRefused(h)), nil
}

// DueEvents returns a finding for each due event of containerd, and of CRI, that has not
// arrived so far. The runner waits for them.
func DueEvents(h harness.History, known []residue.Known) []finding.Finding {
	h.Flushed = h.Lengths()
	r := runOf(&h)
	found, _ := excuses(known).events(r)
	ofCRI, _ := criEvents(r)
	return slices.DeleteFunc(append(finding.Violations(found), ofCRI...), func(f finding.Finding) bool {
		return !slices.Contains([]string{fact.Missing, fact.NotSentAgain}, f.Facts[fact.Event])
	})
}

// taskEvents returns the findings about the events of containers, sandboxes and execs.
func (known excuses) taskEvents(h *run) (found []finding.Finding) {
	events := ofWorkload(h, h.events)
	lives := append(livesOf(h), sandboxLives(h)...)
	streams := map[string]*stream[event.Task]{} // by namespace, container and exec
	for n := range events {
		e := &events[n]
		l := lifeOf(lives, e.Container, e.Exec)
		if _, asked := processOf(h, e.Container, ""); asked && l == nil {
			found = append(found, ofEvent(*e, fact.Facts{fact.Event: fact.Unasked, fact.Topic: e.Topic}))
		} else if l != nil && h.namespace != e.Namespace {
			found = append(found, ofEvent(*e, fact.Facts{fact.Event: fact.WrongNamespace, fact.Topic: e.Topic}))
			continue
		}
		init := e.Namespace + "/" + e.Container + "/"
		key := init + e.Exec
		if streams[key] == nil || e.Topic == event.TopicCreate && usedAgain(streams[key], e) {
			streams[key] = &stream[event.Task]{kinds: lifecycle, again: streams[key] != nil}
		}
		wrong := l.wrongEvent(e, streams[key].again)
		switch was, later := streams[key].add(e.Topic, e); {
		case was != nil:
			wrong = append(wrong, l.repeats(was, e))
		case sentAgain(h, *e) || l.mayBeLate(h, *e):
		case e.Exec != "" && e.Topic == event.TopicExit && streams[init] != nil && streams[init].first[e.Topic] != nil:
			wrong = append(wrong, fact.Facts{fact.Event: fact.Late, fact.After: fact.AfterInitExit})
		case len(later) > 0:
			wrong = append(wrong, fact.Facts{fact.Event: fact.Late, fact.After: later[0].Topic})
		}
		for _, fs := range wrong {
			fs[fact.Topic] = e.Topic
			found = append(found, ofEvent(*e, fs))
		}
	}
	for _, l := range lives {
		found = append(found, l.missing(h, events)...)
	}
	now := conditions(h, h.After.At)
	for n, f := range found {
		// A shim that died after the Delete may not have sent the event.
		diedUnsent := slices.Contains(now.Happened, residue.ShimKilled) && !h.succeeded(f.Subject.ID, "Task.Delete").IsZero()
		if f.Subject.Exec == "" && (diedUnsent || lastOfShim(h, f.Subject.ID)) {
			found[n].Facts[fact.Last] = fact.Yes
		}
	}
	return residue.Mark(known, circumstances(h, found), now)
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

// lastOfShim reports whether the delete of a container was the last event of its shim
// before containerd asked it to exit. Without a probe in the shim, the last delete of a
// pod is that of its sandbox. In a group it is that of the container that was deleted
// last.
func lastOfShim(h *run, id string) bool {
	last, shim := map[int]string{}, 0 // by shim
	for n := range h.Hits {
		hit := &h.Hits[n]
		if hit.Point == "rpc:shim:Task.Delete:exit" && hit.ExecID == "" && hit.Err == "" && !hit.Time.After(h.After.At) {
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

// ofRefused returns the events about processes that never started, because their command
// does not exist. It returns none after a fault.
func ofRefused(h *run) (found []finding.Finding) {
	if tolerated(h, objectKept, until(h.After.At)) {
		return nil
	}
	begun := []string{event.TopicCreate, event.TopicStart, event.TopicExecStart, event.TopicExit}
	for _, p := range processes(h) {
		for _, e := range h.events {
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
