package oracle

import (
	"context"
	"fmt"
	"time"
)

// Life is what the client knows of one container, and so which events must have arrived.
type Life struct {
	Container string
	// Created, Started and Deleted are the times at which the client was told of success; the zero time: it was not, and
	// the event is not required. Exited is when the client, or the payload's record, knew of the exit.
	Created, Started, Exited, Deleted time.Time
	// Begun is when the client first asked for the container. An event may be missing when nobody was subscribed at
	// some time between Begun and Deaf's grace after the deed.
	Begun time.Time
}

// deafGrace is how late an event may be on its way when the subscription breaks: shims queue events and try again.
const deafGrace = 5 * time.Second

// Await waits until every required event is there, or ctx ends, and then judges as Check does. Events are on their
// way for a while after the call that caused them has returned.
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

// missingKey marks, in a finding's details, an event that never arrived.
const missingKey = "missing"

// repeatKey marks, in a finding's details, an event that says again what another has said: the same pid and status.
const repeatKey = "repeats"

// lateKey marks, in a finding's details, an event that arrived after one that must follow it.
const lateKey = "late"

func anyMissing(all []Finding) bool {
	for _, f := range all {
		if f.Details[missingKey] != "" {
			return true
		}
	}
	return false
}

// Check judges the events of each life, and the order and number of all others too: create, start, exit and delete arrive
// once each, in this order, exit and delete with a pid and a time, and an exec's exit not after its init's.
func (l *EventLog) Check(lives []Life) []Finding {
	l.mu.Lock()
	defer l.mu.Unlock()
	var out []Finding
	seen := map[string]bool{}
	for _, container := range l.containers() {
		if container.life = find(lives, container.name); container.life != nil {
			seen[container.name] = true
		}
		out = append(out, container.check(l.deaf)...)
	}
	for i := range lives {
		if !seen[lives[i].Container] { // not one event of it
			c := containerEvents{name: lives[i].Container, life: &lives[i]}
			out = append(out, c.check(l.deaf)...)
		}
	}
	sortFindings(out)
	return out
}

// containers groups the events by container, in the order of the first event.
func (l *EventLog) containers() []*containerEvents {
	var out []*containerEvents
	index := map[string]*containerEvents{}
	for _, e := range l.events {
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

func (c *containerEvents) finding(e *TaskEvent, what, reason string) Finding {
	f := Finding{Invariant: Event, Class: ClassEvent, Namespace: c.namespace, ID: c.name, What: what, Reason: reason}
	if e != nil {
		f.PID = e.PID
		f.Details = map[string]string{
			"topic": e.Topic, "exec": e.Exec, "status": fmt.Sprint(e.Status),
			"sent": e.Sent.UTC().Format(time.RFC3339Nano), "seen": e.Seen.UTC().Format(time.RFC3339Nano),
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

func (c *containerEvents) check(deaf []span) []Finding {
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
			f := c.finding(e, fmt.Sprintf("%s of %s", e.Topic, c.name), twice(run.first[r], e))
			if first := run.first[r]; first.Status == e.Status && first.PID == e.PID {
				f.Details[repeatKey] = e.Topic
			}
			out = append(out, f)
			continue
		}
		for later := r + 1; later <= 4; later++ {
			if run.first[later] != nil {
				f := c.finding(e, fmt.Sprintf("%s of %s", e.Topic, c.name), fmt.Sprintf("arrived after %s", run.first[later].Topic))
				f.Details[lateKey] = e.Topic
				out = append(out, f)
				break
			}
		}
		run.first[r] = e
	}
	return append(out, c.missing(deaf)...)
}

// incarnation is one life of an id: an id may be used again once it was deleted.
type incarnation struct {
	first [5]*TaskEvent // by rank
	execs map[string]bool
}

// begins tells whether a create begins another incarnation: one that repeats the pid of the first is a duplicate.
func (r *incarnation) begins(create *TaskEvent) bool {
	if r.first[1] != nil {
		return r.first[1].PID != create.PID || r.first[4] != nil
	}
	return r.first[4] != nil
}

func twice(first, again *TaskEvent) string {
	s := fmt.Sprintf("arrived twice, %s apart", again.Seen.Sub(first.Seen).Round(time.Millisecond))
	if first.Status != again.Status {
		s += fmt.Sprintf("; the status was %d, then %d", first.Status, again.Status)
	}
	return s
}

// noPID is the -1 of a pid file that could not be read, as it arrives in an event: up to 2.3.7 the shim's delete helper did not check it.
const noPID = 1<<32 - 1

func (c *containerEvents) complete(e *TaskEvent) []Finding {
	what := fmt.Sprintf("%s of %s", e.Topic, process{c.name, e.Exec})
	var out []Finding
	if e.PID == 0 || e.PID == noPID {
		out = append(out, c.finding(e, what, fmt.Sprintf("has pid %d", int32(e.PID))))
	}
	if e.Exited.IsZero() || e.Exited.Unix() == 0 {
		out = append(out, c.finding(e, what, "has no time of exit"))
	}
	return out
}

func (c *containerEvents) exec(run *incarnation, e *TaskEvent) []Finding {
	if e.Topic != topicExit {
		return nil
	}
	what := fmt.Sprintf("%s of %s", e.Topic, process{c.name, e.Exec})
	var out []Finding
	if run.execs[e.Exec] {
		out = append(out, c.finding(e, what, "arrived twice"))
	}
	if run.first[3] != nil {
		out = append(out, c.finding(e, what, "arrived after the exit of the container's init process"))
	}
	if run.execs == nil {
		run.execs = map[string]bool{}
	}
	run.execs[e.Exec] = true
	return out
}

// missing compares with what the client knows. Presence is judged over all incarnations of the id.
func (c *containerEvents) missing(deaf []span) []Finding {
	if c.life == nil {
		return nil
	}
	var out []Finding
	for _, must := range []struct {
		topic string
		since time.Time
		deed  string
	}{
		{topicCreate, c.life.Created, "created"}, {topicStart, c.life.Started, "started"},
		{topicExit, c.life.Exited, "exited"}, {topicDelete, c.life.Deleted, "deleted"},
	} {
		if must.since.IsZero() || c.has(must.topic) || overlaps(deaf, c.life.Begun, must.since.Add(deafGrace)) {
			continue
		}
		f := c.finding(nil, fmt.Sprintf("%s of %s", must.topic, c.name),
			fmt.Sprintf("never arrived; the client knew at %s that it was %s, and the subscription stood all the time",
				must.since.UTC().Format("15:04:05.000"), must.deed))
		f.Details = map[string]string{missingKey: must.topic}
		out = append(out, f)
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

func overlaps(deaf []span, from, to time.Time) bool {
	for _, d := range deaf {
		if d.from.Before(to) && (d.to.IsZero() || d.to.After(from)) {
			return true
		}
	}
	return false
}
