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

// execEvents returns the findings about the events of all execs.
func (known excuses) execEvents(h *run) (found []finding.Finding) {
	for _, p := range processes(h) {
		if p.e != nil {
			found = append(found, p.execEvents()...)
		}
	}
	return residue.Mark(known, append(found, unaskedExecs(h)...), conditions(h, h.After.At))
}

// execTopics are the topics of an exec's events, in their order. Package check finds an
// exit that arrives twice, or after the exit of the init.
var execTopics = []string{event.TopicExecAdded, event.TopicExecStart, event.TopicExit}

// execEvents returns the findings about the events of one exec.
func (p process) execEvents() (found []finding.Finding) {
	events, _, _ := p.h.FirstUse()
	var came []event.Task
	for _, e := range events {
		if !p.isOf(e) {
			continue
		}
		for _, fs := range p.wrongEvent(e, came) {
			fs[fact.Topic] = e.Topic
			found = append(found, p.find(finding.Event, finding.ClassEvent, fs))
		}
		came = append(came, e)
	}
	for _, d := range p.due() {
		has := slices.ContainsFunc(came, func(e event.Task) bool { return e.Topic == d.topic })
		if fs, lost := d.lost(p.h, p.i); !has && lost {
			found = append(found, p.find(finding.Event, finding.ClassEvent, fs))
		}
	}
	return found
}

// wrongEvent returns the facts of each error in an event of an exec. It compares the
// event with the exec, and with the exec's earlier events.
func (p process) wrongEvent(e event.Task, before []event.Task) (all []fact.Facts) {
	if n := slices.IndexFunc(before, func(b event.Task) bool { return b.Topic == e.Topic }); n < 0 {
		all = append(all, p.lateEvent(e, before)...)
	} else if e.Topic != event.TopicExit {
		all = append(all, check.Repeats(&before[n], &e))
	}
	if e.PID != 0 && p.e.PID != 0 && e.PID != int(p.e.PID) {
		all = append(all, fact.Facts{fact.Event: fact.WrongPID, fact.Reported: fmt.Sprint(e.PID),
			fact.True: fmt.Sprint(p.e.PID)})
	}
	from, to := p.exitWindow()
	if fs, wrong := check.WrongExitTime(e.Exited, from, check.MinNonZero(e.Seen, to)); wrong {
		fs[fact.Event] = fact.WrongTime
		all = append(all, fs)
	}
	return all
}

// lateEvent returns the facts of an event that arrived after events that must follow it.
// An event that the shim sent again may arrive late.
func (p process) lateEvent(e event.Task, before []event.Task) (all []fact.Facts) {
	rank := slices.Index(execTopics, e.Topic)
	again := slices.ContainsFunc(p.due(), func(d dueTask) bool { return d.topic == e.Topic && !d.isDue(p.h, p.i.ID) })
	for _, b := range before {
		if rank >= 0 && slices.Index(execTopics, b.Topic) > rank && !again {
			all = append(all, fact.Facts{fact.Event: fact.Late, fact.After: b.Topic})
		}
	}
	return all
}

// due returns the events that the shim of an exec must send.
func (p process) due() []dueTask {
	end := p.over()
	return []dueTask{
		{event.TopicExecAdded, p.e.Begun, p.e.Added}, {event.TopicExecStart, p.e.Begun, p.e.Started},
		{event.TopicExit, end, end},
	}
}

// dueTask is an event that only a shim can send. Its cause happened between from and
// since.
type dueTask struct {
	topic       string
	from, since time.Time
}

// isDue reports whether the event must have arrived at the shim's first try: the shim did
// not die, and the harness was subscribed.
func (d dueTask) isDue(h *run, id string) bool {
	by := d.since.Add(reportIn)
	return settled(h) && !d.since.IsZero() &&
		!toleratedOf(h, firstTrySent, harness.Instance{ID: id}, until(by)) &&
		!slices.ContainsFunc(gaps(h), func(g event.Gap) bool { return g.Overlaps(d.from, by) })
}

// lost reports whether an event that has not arrived must have arrived, at the shim's
// first try or at a later one. It returns the facts of the missing event.
func (d dueTask) lost(h *run, i harness.Instance) (fact.Facts, bool) {
	fs := fact.Facts{fact.Event: fact.Missing, fact.Topic: d.topic,
		fact.At: d.since.UTC().Format("15:04:05.000")}
	switch {
	case d.isDue(h, i.ID):
		return fs, true
	case settled(h) && !sentAgainBy(h, i, d.from, d.since).IsZero():
		fs[fact.Event] = fact.NotSentAgain
		return fs, true
	}
	return fact.Facts{}, false
}

// unaskedExecs returns the events of execs that the client did not ask for: they have a
// wrong id.
func unaskedExecs(h *run) (found []finding.Finding) {
	events, _, _ := h.FirstUse()
	for _, e := range events {
		p, ok := processOf(h, e.Container, "")
		if ok && e.Exec != "" &&
			!slices.ContainsFunc(p.i.Execs, func(x harness.Exec) bool { return x.ID == e.Exec }) {
			found = append(found, ofEvent(e, fact.Facts{fact.Event: fact.Unasked, fact.Topic: e.Topic}))
		}
	}
	return found
}
