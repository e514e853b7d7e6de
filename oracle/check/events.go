// Package check answers: which of containerd's events about tasks are missing or wrong?
package check

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/shimquake/shimquake/oracle/event"
	"github.com/shimquake/shimquake/oracle/fact"
	"github.com/shimquake/shimquake/oracle/finding"
)

// Lifecycle has what is known about one container from other sources than events. It
// shows which events must have arrived, and with which content.
type Lifecycle struct {
	// Namespace is the containerd namespace. An event in another one is wrong.
	Namespace, Container string
	// PID is the pid of the container's init, or 0 if it is unknown.
	PID int
	// Created, Started and Deleted are the times at which the client got a successful
	// response. Exited is a time by which the container had ended. If a time is zero, its
	// event is not required.
	Created, Started, Exited, Deleted time.Time
	// Begun is the time of the client's first call for the container. ExitedFrom is the
	// earliest possible time of the container's end.
	Begun, ExitedFrom time.Time
	// SentBy maps a topic to the latest time at which the shim must send its event again.
	// It has an entry only if containerd did not receive the first event, and the shim kept
	// running without a Shutdown.
	SentBy map[string]time.Time
	// Told are the periods after containerd had received the exit and the delete from the
	// shim. In them containerd must not publish these events itself.
	Told []event.Gap
	// NotBefore is a time at which the container still ran. NotAfter is the latest time
	// at which its end can have been noticed. If NotAfter is zero, the exit
	// time in an event is only limited by the event's arrival.
	NotBefore, NotAfter time.Time
}

// lateGrace is how long an event may take from the shim to the subscriber. If the
// subscription breaks within it, the event may be lost. It usually takes some
// milliseconds.
const lateGrace = 2 * time.Second

// clockGrace is how far apart two processes on one machine may record the same moment.
const clockGrace = 50 * time.Millisecond

// Events returns the findings about events. Create, start, exit and delete of a container
// must arrive once each, in this order, with a pid. Exit and delete must have a time, and
// the exit of an exec must not follow that of the init. The events of a container in
// lives must have its namespace, its pid and the time of its end. Its events must not be
// missing, unless they were due in a gap.
func Events(events []event.Task, gaps []event.Gap, lives []Lifecycle) []finding.Finding {
	var out []finding.Finding
	seen := map[string]bool{}
	for _, container := range containersOf(events) {
		if container.life = find(lives, container.namespace, container.name); container.life != nil {
			seen[container.name] = true
		} else if slices.ContainsFunc(lives, func(l Lifecycle) bool { return l.Container == container.name }) {
			out = append(out, container.foreign()...)
			continue
		}
		out = append(out, container.check(gaps)...)
	}
	for i := range lives {
		if !seen[lives[i].Container] { // without any event
			c := containerEvents{namespace: lives[i].Namespace, name: lives[i].Container, life: &lives[i]}
			out = append(out, c.check(gaps)...)
		}
	}
	finding.Sort(out)
	return out
}

// containersOf groups events by container, in the order of the first event.
func containersOf(events []event.Task) []*containerEvents {
	var out []*containerEvents
	index := map[string]*containerEvents{}
	for _, e := range events {
		key := e.Namespace + "/" + e.Container
		c := index[key]
		if c == nil {
			c = &containerEvents{name: e.Container, namespace: e.Namespace}
			index[key] = c
			out = append(out, c)
		}
		c.events = append(c.events, e)
	}
	return out
}

// foreign returns findings about events in another namespace than the container's. A
// client that waits for them in the right namespace does not receive them.
func (c *containerEvents) foreign() (out []finding.Finding) {
	for i := range c.events {
		out = append(out, c.finding(&c.events[i], fact.Facts{fact.Event: fact.WrongNamespace}))
	}
	return out
}

func find(lives []Lifecycle, namespace, container string) *Lifecycle {
	for i := range lives {
		if lives[i].Container == container && lives[i].Namespace == namespace {
			return &lives[i]
		}
	}
	return nil
}

// containerEvents are the events of one container.
type containerEvents struct {
	name, namespace string
	events          []event.Task
	life            *Lifecycle // nil if nothing is known about the container
}

func (c *containerEvents) finding(e *event.Task, fs fact.Facts) finding.Finding {
	f := finding.Finding{Invariant: finding.Event, Class: finding.ClassEvent,
		Subject: finding.Subject{Namespace: c.namespace, ID: c.name}, Facts: fs}
	if e != nil {
		f.Subject.PID, f.Subject.Exec, f.Facts[fact.Topic] = e.PID, e.Exec, e.Topic
		if e.Exec != "" {
			f.Facts[fact.Of] = fact.AnExec
		}
	}
	return f
}

// lifecycle are the topics of a container's init, in their order.
var lifecycle = []string{event.TopicCreate, event.TopicStart, event.TopicExit, event.TopicDelete}

func (c *containerEvents) check(gaps []event.Gap) []finding.Finding {
	var out []finding.Finding
	var run incarnation
	for i := range c.events {
		e := &c.events[i]
		out = append(out, c.complete(e)...)
		if e.Exec != "" {
			out = append(out, c.exec(&run, e)...)
			continue
		}
		r := slices.Index(lifecycle, e.Topic) + 1
		if r == 0 {
			continue
		}
		if r == 1 && run.begins(e) {
			run = incarnation{again: true}
		}
		if !run.again {
			out = append(out, c.ofLife(e)...)
		}
		if run.first[r] != nil {
			out = append(out, c.finding(e, c.repeats(run.first[r], e)))
			continue
		}
		for later := r + 1; later <= 4; later++ {
			if run.first[later] != nil {
				out = append(out, c.finding(e, fact.Facts{fact.Event: fact.Late, fact.After: run.first[later].Topic}))
				break
			}
		}
		run.first[r] = e
	}
	return append(out, c.missing(gaps)...)
}

// incarnation is one use of an id. A client may use the id of a deleted container again.
type incarnation struct {
	first [5]*event.Task         // by rank
	execs map[string]*event.Task // the first exit of each exec
	again bool                   // not the first use
}

// begins reports whether a create event begins another use of the id. An event with the
// pid of the first create is a duplicate.
func (r *incarnation) begins(create *event.Task) bool {
	if r.first[1] != nil {
		return r.first[1].PID != create.PID || r.first[4] != nil
	}
	return r.first[4] != nil
}

// repeats returns the facts of a repeated event of an init. The shim did not send the
// second event if its time differs and lies in a period of Told. Then containerd
// published it, although the shim had reported the exit.
func (c *containerEvents) repeats(first, again *event.Task) fact.Facts {
	fs := Repeats(first, again)
	if c.life != nil && fs[fact.Repeat] == fact.SameAgain && !first.Sent.Equal(again.Sent) &&
		overlaps(c.life.Told, again.Sent, again.Sent) {
		fs[fact.Repeat] = fact.AlreadyReported
	}
	return fs
}

// Repeats returns the facts of a repeated event.
func Repeats(first, again *event.Task) fact.Facts {
	fs := fact.Facts{
		fact.Event:  fact.Repeated,
		fact.Repeat: fact.SameAgain,
		fact.Apart:  again.Seen.Sub(first.Seen).Round(time.Millisecond).String(),
	}
	switch {
	case first.Status != again.Status:
		fs[fact.Repeat], fs[fact.First], fs[fact.Reported] = fact.OtherStatus, fmt.Sprint(first.Status),
			fmt.Sprint(again.Status)
	case first.PID != again.PID:
		fs[fact.Repeat] = fact.OtherPID
	}
	return fs
}

// noPID is -1 as it arrives in an event, from a pid file that could not be read. Up to
// 2.3.7 the shim's delete helper did not check for it.
const noPID = 1<<32 - 1

// withoutPID are the topics whose events have no pid.
var withoutPID = []string{event.TopicPaused, event.TopicResumed, event.TopicExecAdded, event.TopicOOM}

// complete checks that an event has a pid, and that an exit or delete has a time.
func (c *containerEvents) complete(e *event.Task) []finding.Finding {
	var out []finding.Finding
	if !slices.Contains(withoutPID, e.Topic) && (e.PID == 0 || e.PID == noPID) {
		out = append(out, c.finding(e, fact.Facts{fact.Event: fact.NoPID}))
	}
	if e.Topic != event.TopicExit && e.Topic != event.TopicDelete {
		return out
	}
	// A client may delete a task that was never started, and so has no exit time.
	unstarted := e.Topic == event.TopicDelete && c.life != nil && c.life.Started.IsZero() && !c.life.Deleted.IsZero()
	if (e.Exited.IsZero() || e.Exited.Unix() == 0) && !unstarted {
		out = append(out, c.finding(e, fact.Facts{fact.Event: fact.NoTime}))
	}
	return out
}

// ofLife compares an event with the known pid and end of the container. If NotAfter is
// zero, containerd's cleanup of a dead shim may have set the exit time. Then it is later
// than the end, but not later than the event's arrival.
func (c *containerEvents) ofLife(e *event.Task) []finding.Finding {
	if c.life == nil {
		return nil
	}
	var out []finding.Finding
	if c.life.PID != 0 && e.PID != c.life.PID && e.PID != 0 && e.PID != noPID {
		out = append(out, c.finding(e, fact.Facts{
			fact.Event: fact.WrongPID, fact.Reported: fmt.Sprint(e.PID), fact.True: fmt.Sprint(c.life.PID),
		}))
	}
	if fs, wrong := WrongExitTime(e.Exited, c.life.NotBefore, MinNonZero(e.Seen, c.life.NotAfter)); wrong {
		fs[fact.Event] = fact.WrongTime
		out = append(out, c.finding(e, fs))
	}
	return out
}

// MinNonZero returns the earlier of a time and a bound. A zero bound does not count.
func MinNonZero(at, bound time.Time) time.Time {
	if bound.IsZero() || at.Before(bound) {
		return at
	}
	return bound
}

// WrongExitTime reports whether the reported time of an end is outside the possible
// times, and returns the facts. A missing time is not wrong here.
func WrongExitTime(reported, notBefore, notAfter time.Time) (fact.Facts, bool) {
	early, late := reported.Before(notBefore.Add(-clockGrace)), reported.After(notAfter.Add(clockGrace))
	if reported.IsZero() || reported.Unix() == 0 || !early && !late {
		return fact.Facts{}, false
	}
	const form = "2006-01-02T15:04:05.000Z"
	return fact.Facts{
		fact.At: reported.UTC().Format(form), fact.NotBefore: notBefore.UTC().Format(form),
		fact.NotAfter: notAfter.UTC().Format(form),
	}, true
}

func (c *containerEvents) exec(run *incarnation, e *event.Task) []finding.Finding {
	if e.Topic != event.TopicExit {
		return nil
	}
	var out []finding.Finding
	if first := run.execs[e.Exec]; first != nil {
		out = append(out, c.finding(e, Repeats(first, e)))
	}
	if run.first[3] != nil {
		out = append(out, c.finding(e, fact.Facts{fact.Event: fact.Late, fact.After: fact.AfterInitExit}))
	}
	if run.execs == nil {
		run.execs = map[string]*event.Task{}
	}
	if run.execs[e.Exec] == nil {
		run.execs[e.Exec] = e
	}
	return out
}

// missing compares the events with the known life of the container. An event is due from
// the earliest time at which its cause can have happened. An event is not missing
// if it belongs to another use of the id.
func (c *containerEvents) missing(gaps []event.Gap) []finding.Finding {
	if c.life == nil {
		return nil
	}
	l := c.life
	var out []finding.Finding
	for _, must := range []struct {
		topic       string
		from, since time.Time
	}{
		{event.TopicCreate, l.Begun, l.Created}, {event.TopicStart, l.Begun, l.Started},
		{event.TopicExit, l.ExitedFrom, l.Exited},
		{event.TopicDelete, cmp.Or(l.ExitedFrom, l.Begun), l.Deleted},
	} {
		is := fact.Missing
		if !l.SentBy[must.topic].IsZero() { // an earlier gap does not excuse an event that the shim must have sent again
			is = fact.NotSentAgain
		} else if overlaps(gaps, must.from, must.since.Add(lateGrace)) {
			continue
		}
		if must.since.IsZero() || c.has(must.topic) {
			continue
		}
		out = append(out, c.finding(nil, fact.Facts{
			fact.Event: is, fact.Topic: must.topic, fact.At: must.since.UTC().Format("15:04:05.000"),
		}))
	}
	return out
}

func (c *containerEvents) has(topic string) bool {
	return slices.ContainsFunc(c.events, func(e event.Task) bool { return e.Topic == topic && e.Exec == "" })
}

func overlaps(gaps []event.Gap, from, to time.Time) bool {
	return slices.ContainsFunc(gaps, func(g event.Gap) bool { return g.Overlaps(from, to) })
}
