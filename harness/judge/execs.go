package judge

import (
	"fmt"
	"slices"
	"time"

	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/oracle/check"
	"github.com/shimquake/shimquake/oracle/event"
	"github.com/shimquake/shimquake/oracle/fact"
	"github.com/shimquake/shimquake/oracle/finding"
	"github.com/shimquake/shimquake/oracle/residue"
)

// execs: a process that is run in a container besides its init ends as the workload says,
// each of its events comes once, in order and of itself, and when it is deleted
// containerd knows no more of it. What is told of its exit is judged with the rest
// (exits, times, unreported).
func (known excuses) execs(h *harness.History) (found []finding.Finding, _ []harness.Problem) {
	if !looked(h) {
		return nil, nil
	}
	for n := range h.Instances {
		i := &h.Instances[n]
		for m := range i.Execs {
			x := execOf{h, i, &i.Execs[m], nil}
			x.kept()
			x.synced()
			x.events()
			found = append(found, x.found...)
		}
	}
	return residue.Mark(known, append(found, unaskedExecs(h)...), conditions(h, h.After.At)), nil
}

// execOf is an exec that is judged.
type execOf struct {
	h     *harness.History
	i     *harness.Instance
	e     *harness.Exec
	found []finding.Finding
}

func (x *execOf) find(invariant finding.Invariant, class finding.Class, fs fact.Facts) {
	fs[fact.Of] = fact.AnExec
	x.found = append(x.found, finding.Finding{Invariant: invariant, Class: class, Facts: fs,
		Subject: finding.Subject{ID: x.i.ID, Exec: x.e.Called(), PID: int(x.e.PID)}})
}

// kept: what was deleted is not known any more.
func (x *execOf) kept() {
	if x.e.Kept != "" && (x.e.Sync == nil || !x.syncBroken()) {
		x.find(finding.Liveness, finding.ClassDaemon, fact.Facts{
			fact.What: fact.ExecKept, fact.Task: x.e.Kept})
	}
}

// execTopics are those of the events of an exec, in their order. That its exit came
// twice, or after that of the init, check.Events finds.
var execTopics = []string{event.TopicExecAdded, event.TopicExecStart, event.TopicExit}

func (x *execOf) events() {
	var came []event.Task
	for _, e := range x.ownEvents() {
		x.event(e, came)
		came = append(came, e)
	}
	for _, d := range x.expected() {
		has := slices.ContainsFunc(came, func(e event.Task) bool { return e.Topic == d.topic })
		if fs, lost := d.lost(x.h, *x.i); !has && lost {
			x.find(finding.Event, finding.ClassEvent, fs)
		}
	}
}

// ownEvents are its events.
func (x *execOf) ownEvents() (own []event.Task) {
	seen, _, _ := x.h.FirstUse()
	for _, e := range seen {
		if e.Container == x.i.ID && e.Exec == x.e.Called() {
			own = append(own, e)
		}
	}
	return own
}

// event judges one by those that came before.
func (x *execOf) event(e event.Task, before []event.Task) {
	find := func(fs fact.Facts) {
		fs[fact.Topic] = e.Topic
		x.find(finding.Event, finding.ClassEvent, fs)
	}
	if n := slices.IndexFunc(before, func(b event.Task) bool { return b.Topic == e.Topic }); n >= 0 {
		if e.Topic != event.TopicExit {
			find(check.Repeats(&before[n], &e))
		}
	} else {
		x.ordered(e, before, find)
	}
	if e.PID != 0 && x.e.PID != 0 && e.PID != int(x.e.PID) {
		find(fact.Facts{fact.Event: fact.WrongPID, fact.Reported: fmt.Sprint(e.PID),
			fact.True: fmt.Sprint(x.e.PID)})
	}
	from, to := process{x.h, *x.i, x.e}.exitWindow()
	if fs, wrong := check.WrongEnd(e.Exited, from, check.MinNonZero(e.Seen, to)); wrong {
		fs[fact.Event] = fact.WrongTime
		find(fs)
	}
}

// ordered: one that comes for the first time comes before what follows it. One that comes
// again comes behind what has come about meanwhile.
func (x *execOf) ordered(e event.Task, before []event.Task, find func(fact.Facts)) {
	rank := slices.Index(execTopics, e.Topic)
	for _, b := range before {
		if rank >= 0 && slices.Index(execTopics, b.Topic) > rank && x.due(e.Topic) {
			find(fact.Facts{fact.Event: fact.Late, fact.After: b.Topic})
		}
	}
}

// ofShim is an event that nobody but a shim can send: what it tells of had come about by
// since, and not before from.
type ofShim struct {
	topic       string
	from, since time.Time
}

// due reports whether it must have come. What a shim has not sent dies with it.
func (d ofShim) due(h *harness.History, id string) bool {
	until := d.since.Add(reportIn)
	return settled(h) && !d.since.IsZero() &&
		!slices.ContainsFunc(gaps(h), func(g event.Gap) bool { return g.Overlaps(d.from, until) }) &&
		!slices.ContainsFunc(shimKillsOf(h, id), func(k harness.Kill) bool { return k.At.Before(until) })
}

// lost are the facts of one that has not come, and whether it must have: when it first
// could, or when its shim had surely sent it again.
func (d ofShim) lost(h *harness.History, i harness.Instance) (fact.Facts, bool) {
	fs := fact.Facts{fact.Event: fact.Missing, fact.Topic: d.topic,
		fact.At: d.since.UTC().Format("15:04:05.000")}
	switch {
	case d.due(h, i.ID):
		return fs, true
	case settled(h) && !sentAgainBy(h, i, d.from, d.since).IsZero():
		fs[fact.Event] = fact.NotSentAgain
		return fs, true
	}
	return fact.Facts{}, false
}

// expected are the events of an exec. Only its shim knows of it.
func (x *execOf) expected() []ofShim {
	end := process{x.h, *x.i, x.e}.over()
	return []ofShim{
		{event.TopicExecAdded, x.e.Begun, x.e.Added}, {event.TopicExecStart, x.e.Begun, x.e.Started},
		{event.TopicExit, end, end},
	}
}

// due reports whether an event must have come when it first could: what a shim could not
// send then it sends again a second later, behind what has come about meanwhile.
func (x *execOf) due(topic string) bool {
	return !slices.ContainsFunc(x.expected(), func(d ofShim) bool { return d.topic == topic && !d.due(x.h, x.i.ID) })
}

// unaskedExecs are events of execs that no client has asked for: the id of another.
func unaskedExecs(h *harness.History) (found []finding.Finding) {
	seen, _, _ := h.FirstUse()
	for _, e := range seen {
		n := slices.IndexFunc(h.Instances, func(i harness.Instance) bool { return i.ID != "" && i.ID == e.Container })
		if e.Exec == "" || n < 0 ||
			slices.ContainsFunc(h.Instances[n].Execs, func(x harness.Exec) bool { return x.ID == e.Exec }) {
			continue
		}
		found = append(found, finding.Finding{Invariant: finding.Event, Class: finding.ClassEvent,
			Subject: finding.Subject{Namespace: e.Namespace, ID: e.Container, Exec: e.Exec, PID: e.PID},
			Facts:   fact.Facts{fact.Event: fact.Unasked, fact.Topic: e.Topic, fact.Of: fact.AnExec}})
	}
	return found
}
