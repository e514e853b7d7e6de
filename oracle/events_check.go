package oracle

import (
	"context"
	"fmt"
	"slices"
	"time"
)

// Life is what the client knows of one container, and so which events must have arrived.
type Life struct {
	Container string
	// Created, Started and Deleted are the times at which the client was told of success;
	// the zero time: it was not, and the event is not required. Exited is when the client,
	// or the payload's record, knew of the exit.
	Created, Started, Exited, Deleted time.Time
	// Begun is when the client first asked for the container. An event may be missing when
	// nobody was subscribed at some time between Begun and lateGrace after it was due.
	Begun time.Time
}

// lateGrace is how late an event may be on its way when the subscription breaks: shims
// queue events and try again.
const lateGrace = 5 * time.Second

// Await waits until every required event is there, or ctx ends, and then judges as Check
// does. Events are on their way for a while after the call that caused them has returned.
func (l *EventLog) Await(ctx context.Context, lives []Life) []Finding {
	for {
		_, grown := l.Grown()
		findings := l.Check(lives)
		if !anyMissing(findings) {
			return findings
		}
		select {
		case <-grown:
		case <-ctx.Done():
			return l.Check(lives)
		}
	}
}

func anyMissing(all []Finding) bool {
	return slices.ContainsFunc(all, func(f Finding) bool { return f.Facts[FactEvent] == Missing })
}

// Check judges the log so far, see CheckEvents.
func (l *EventLog) Check(lives []Life) []Finding { return CheckEvents(l.Events(), l.Gaps(), lives) }

// CheckEvents judges the events of each life, and the order and number of all others too:
// create, start, exit and delete arrive once each, in this order, exit and delete with a
// pid and a time, and an exec's exit not after its init's. What was due in a gap may be
// missing.
func CheckEvents(events []TaskEvent, gaps []Gap, lives []Life) []Finding {
	var out []Finding
	seen := map[string]bool{}
	for _, container := range containersOf(events) {
		if container.life = find(lives, container.name); container.life != nil {
			seen[container.name] = true
		}
		out = append(out, container.check(gaps)...)
	}
	for i := range lives {
		if !seen[lives[i].Container] { // not one event of it
			c := containerEvents{name: lives[i].Container, life: &lives[i]}
			out = append(out, c.check(gaps)...)
		}
	}
	sortFindings(out)
	return out
}

// containersOf groups events by container, in the order of the first event.
func containersOf(events []TaskEvent) []*containerEvents {
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

func find(lives []Life, container string) *Life {
	for i := range lives {
		if lives[i].Container == container {
			return &lives[i]
		}
	}
	return nil
}

// containerEvents are the events of one container.
type containerEvents struct {
	name, namespace string
	events          []TaskEvent
	life            *Life // nil when the client tells nothing of it
}

func (c *containerEvents) finding(e *TaskEvent, fs Facts) Finding {
	f := Finding{Invariant: Event, Class: ClassEvent, Subject: Subject{Namespace: c.namespace, ID: c.name}, Facts: fs}
	if e != nil {
		f.Subject.PID, f.Subject.Exec, f.Facts[FactTopic] = e.PID, e.Exec, e.Topic
		if e.Exec != "" {
			f.Facts[FactOf] = AnExec
		}
	}
	return f
}

// rank is an event's place in a life; 0 for a topic that has none.
func rank(topic string) int {
	switch topic {
	case topicCreate:
		return 1
	case topicStart:
		return 2
	case topicExit:
		return 3
	case topicDelete:
		return 4
	}
	return 0
}

func (c *containerEvents) check(gaps []Gap) []Finding {
	var out []Finding
	var run incarnation
	for i := range c.events {
		e := &c.events[i]
		if e.Topic == topicExit || e.Topic == topicDelete {
			out = append(out, c.complete(e)...)
		}
		if e.Exec != "" {
			out = append(out, c.exec(&run, e)...)
			continue
		}
		r := rank(e.Topic)
		if r == 0 {
			continue
		}
		if r == 1 && run.begins(e) {
			run = incarnation{}
		}
		if run.first[r] != nil {
			out = append(out, c.finding(e, repeats(run.first[r], e)))
			continue
		}
		for later := r + 1; later <= 4; later++ {
			if run.first[later] != nil {
				out = append(out, c.finding(e, Facts{FactEvent: Late, FactAfter: run.first[later].Topic}))
				break
			}
		}
		run.first[r] = e
	}
	return append(out, c.missing(gaps)...)
}

// incarnation is one life of an id: an id may be used again once it was deleted.
type incarnation struct {
	first [5]*TaskEvent // by rank
	execs map[string]bool
}

// begins reports whether a create begins another incarnation: one that repeats the pid of
// the first is a duplicate.
func (r *incarnation) begins(create *TaskEvent) bool {
	if r.first[1] != nil {
		return r.first[1].PID != create.PID || r.first[4] != nil
	}
	return r.first[4] != nil
}

// repeats are the facts of an event that has come before.
func repeats(first, again *TaskEvent) Facts {
	fs := Facts{
		FactEvent:  Repeated,
		FactRepeat: SameAgain,
		FactApart:  again.Seen.Sub(first.Seen).Round(time.Millisecond).String(),
	}
	switch {
	case first.Status != again.Status:
		fs[FactRepeat], fs[FactFirst], fs[FactTold] = OtherStatus, fmt.Sprint(first.Status), fmt.Sprint(again.Status)
	case first.PID != again.PID:
		fs[FactRepeat] = OtherPID
	}
	return fs
}

// noPID is the -1 of a pid file that could not be read, as it arrives in an event: up to
// 2.3.7 the shim's delete helper did not check it.
const noPID = 1<<32 - 1

func (c *containerEvents) complete(e *TaskEvent) []Finding {
	var out []Finding
	if e.PID == 0 || e.PID == noPID {
		out = append(out, c.finding(e, Facts{FactEvent: NoPID}))
	}
	if e.Exited.IsZero() || e.Exited.Unix() == 0 {
		out = append(out, c.finding(e, Facts{FactEvent: NoTime}))
	}
	return out
}

func (c *containerEvents) exec(run *incarnation, e *TaskEvent) []Finding {
	if e.Topic != topicExit {
		return nil
	}
	var out []Finding
	if run.execs[e.Exec] {
		out = append(out, c.finding(e, Facts{FactEvent: Repeated}))
	}
	if run.first[3] != nil {
		out = append(out, c.finding(e, Facts{FactEvent: Late, FactAfter: AfterInitExit}))
	}
	if run.execs == nil {
		run.execs = map[string]bool{}
	}
	run.execs[e.Exec] = true
	return out
}

// missing compares with what the client knows. Presence is judged over all incarnations
// of the id.
func (c *containerEvents) missing(gaps []Gap) []Finding {
	if c.life == nil {
		return nil
	}
	var out []Finding
	for _, must := range []struct {
		topic string
		since time.Time
	}{
		{topicCreate, c.life.Created}, {topicStart, c.life.Started}, {topicExit, c.life.Exited}, {topicDelete,
			c.life.Deleted},
	} {
		if must.since.IsZero() || c.has(must.topic) || overlaps(gaps, c.life.Begun, must.since.Add(lateGrace)) {
			continue
		}
		out = append(out, c.finding(nil, Facts{
			FactEvent: Missing, FactTopic: must.topic, FactAt: must.since.UTC().Format("15:04:05.000"),
		}))
	}
	return out
}

func (c *containerEvents) has(topic string) bool {
	for _, e := range c.events {
		if e.Topic == topic && e.Exec == "" {
			return true
		}
	}
	return false
}

func overlaps(gaps []Gap, from, to time.Time) bool {
	return slices.ContainsFunc(gaps, func(g Gap) bool { return g.From.Before(to) && (g.To.IsZero() || g.To.After(from)) })
}
