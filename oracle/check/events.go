// Package check answers: what must hold of containerd's events, and of its answers?
// [Events] judges the events of tasks, [Containers] those of containers' records.
package check

import (
	"fmt"
	"slices"
	"time"

	"github.com/shimquake/shimquake/oracle/event"
	"github.com/shimquake/shimquake/oracle/fact"
	"github.com/shimquake/shimquake/oracle/finding"
)

// Life is what is known of one container without its events, and so which of them must
// have arrived, and what they must say.
type Life struct {
	// Namespace is containerd's: the same event in another one is not the container's.
	Namespace, Container string
	// PID is that of its init; 0: nobody heard it.
	PID int
	// Created, Started and Deleted are the times at which the client heard of success,
	// and Exited is when it ended; the zero time: that is not known, and the event is not
	// required.
	Created, Started, Exited, Deleted time.Time
	// Begun is when the client first asked for the container, and ExitedFrom the earliest
	// time at which it can have ended: Exited, where that is no later telling.
	Begun, ExitedFrom time.Time
	// SentBy is, by topic, when its shim has surely told of that again which it could not
	// tell at first: nobody had taken it from the shim before, and the shim lived and was
	// not made to exit. Of all others nothing is known.
	SentBy map[string]time.Time
	// Told are the times in which containerd knew that its shim had told its exit and its
	// delete, and so had nothing to tell of it itself.
	Told []event.Gap
	// NotBefore is a time at which it was still alive: it did not end before. NotAfter is
	// the latest time that one who saw its end can take for that; the zero time: whoever
	// tells may have made the time up by then.
	NotBefore, NotAfter time.Time
}

// lateGrace is how late an event may be on its way when the subscription breaks: from the
// shim to containerd, and from there to who listens. It takes some milliseconds.
const lateGrace = 2 * time.Second

// clockGrace is how far the times of two processes of one machine may be apart: the
// kernel's clock for the end of a process ticks every 10 ms.
const clockGrace = 50 * time.Millisecond

// Events judges the events of each life, and the order and number of all others too:
// create, start, exit and delete arrive once each, in this order, with a pid, exit and
// delete with a time, and an exec's exit not after its init's. Events of a life are of
// its namespace, its pid and its end. What was due in a gap may be missing.
func Events(events []event.Task, gaps []event.Gap, lives []Life) []finding.Finding {
	var out []finding.Finding
	seen := map[string]bool{}
	for _, container := range containersOf(events) {
		if container.life = find(lives, container.namespace, container.name); container.life != nil {
			seen[container.name] = true
		} else if slices.ContainsFunc(lives, func(l Life) bool { return l.Container == container.name }) {
			out = append(out, container.foreign()...)
			continue
		}
		out = append(out, container.check(gaps)...)
	}
	for i := range lives {
		if !seen[lives[i].Container] { // not one event of it
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

// foreign are findings about events that came in a namespace which is not the
// container's: nobody who waits for them hears them.
func (c *containerEvents) foreign() (out []finding.Finding) {
	for i := range c.events {
		out = append(out, c.finding(&c.events[i], fact.Facts{fact.Event: fact.WrongNamespace}))
	}
	return out
}

func find(lives []Life, namespace, container string) *Life {
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
	life            *Life // nil when the client tells nothing of it
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

// rank is an event's place in a life; 0 for a topic that has none.
func rank(topic string) int {
	switch topic {
	case event.TopicCreate:
		return 1
	case event.TopicStart:
		return 2
	case event.TopicExit:
		return 3
	case event.TopicDelete:
		return 4
	}
	return 0
}

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
		r := rank(e.Topic)
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

// incarnation is one life of an id: an id may be used again once it was deleted.
type incarnation struct {
	first [5]*event.Task         // by rank
	execs map[string]*event.Task // the first exit of each
	again bool                   // it is not the first
}

// begins reports whether a create begins another incarnation: one that repeats the pid of
// the first is a duplicate.
func (r *incarnation) begins(create *event.Task) bool {
	if r.first[1] != nil {
		return r.first[1].PID != create.PID || r.first[4] != nil
	}
	return r.first[4] != nil
}

// repeats are those of an event of an init. What a shim sends again, because its answer
// was lost, is of the time at which it was sent first.
func (c *containerEvents) repeats(first, again *event.Task) fact.Facts {
	fs := Repeats(first, again)
	if c.life != nil && fs[fact.Repeat] == fact.SameAgain && !first.Sent.Equal(again.Sent) &&
		overlaps(c.life.Told, again.Sent, again.Sent) {
		fs[fact.Repeat] = fact.KnownToBeTold
	}
	return fs
}

// Repeats are the facts of an event that has come before.
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

// noPID is the -1 of a pid file that could not be read, as it arrives in an event: up to
// 2.3.7 the shim's delete helper did not check it.
const noPID = 1<<32 - 1

// withoutPID are the events that tell no pid.
var withoutPID = []string{event.TopicPaused, event.TopicResumed, event.TopicExecAdded, event.TopicOOM}

// complete: an event of a process says which, and one of its end when that was.
func (c *containerEvents) complete(e *event.Task) []finding.Finding {
	var out []finding.Finding
	if !slices.Contains(withoutPID, e.Topic) && (e.PID == 0 || e.PID == noPID) {
		out = append(out, c.finding(e, fact.Facts{fact.Event: fact.NoPID}))
	}
	if e.Topic != event.TopicExit && e.Topic != event.TopicDelete {
		return out
	}
	// A client may delete a task that has never been started: it has not exited.
	unstarted := e.Topic == event.TopicDelete && c.life != nil && c.life.Started.IsZero() && !c.life.Deleted.IsZero()
	if (e.Exited.IsZero() || e.Exited.Unix() == 0) && !unstarted {
		out = append(out, c.finding(e, fact.Facts{fact.Event: fact.NoTime}))
	}
	return out
}

// ofLife compares an event with what is known of the container: its pid, and the time of
// its end. A time that somebody made up when it cleaned up may be later than the end, but
// not later than the event; one of somebody who saw the end is of that.
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
	if fs, wrong := WrongEnd(e.Exited, c.life.NotBefore, Sooner(e.Seen, c.life.NotAfter)); wrong {
		fs[fact.Event] = fact.WrongTime
		out = append(out, c.finding(e, fs))
	}
	return out
}

// Sooner is the sooner of a time and a bound, which the zero time stands for none of.
func Sooner(at, bound time.Time) time.Time {
	if bound.IsZero() || at.Before(bound) {
		return at
	}
	return bound
}

// WrongEnd reports whether a reported time of an end is not between the times in which
// the end was, and with what facts. A time that was not reported is not judged.
func WrongEnd(reported, notBefore, notAfter time.Time) (fact.Facts, bool) {
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

// missing compares with what is known of the container. An event is due from the time at
// which what it tells of can first have happened. Presence is judged over all
// incarnations of the id.
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
		{event.TopicDelete, first(l.ExitedFrom, l.Begun), l.Deleted},
	} {
		is := fact.Missing
		if !l.SentBy[must.topic].IsZero() { // no gap excuses what was to be sent when it was over
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

// first is the first of two times that is known.
func first(a, b time.Time) time.Time {
	if a.IsZero() {
		return b
	}
	return a
}

func (c *containerEvents) has(topic string) bool {
	for _, e := range c.events {
		if e.Topic == topic && e.Exec == "" {
			return true
		}
	}
	return false
}

func overlaps(gaps []event.Gap, from, to time.Time) bool {
	return slices.ContainsFunc(gaps, func(g event.Gap) bool { return g.Overlaps(from, to) })
}
