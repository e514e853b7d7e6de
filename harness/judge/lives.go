package judge

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/oracle/event"
	"github.com/shimquake/shimquake/oracle/fact"
	"github.com/shimquake/shimquake/oracle/finding"
)

// stream keeps the first event of each kind about one object.
type stream[E any] struct {
	kinds []string // in their order
	first map[string]*E
	again bool // the id was used before
}

// add adds an event. It returns the first event of the same kind, if there was one. If
// not, it returns the events that came before this one, and must follow it.
func (s *stream[E]) add(kind string, e *E) (was *E, later []*E) {
	if was = s.first[kind]; was != nil || !slices.Contains(s.kinds, kind) {
		return was, nil
	}
	for _, k := range s.kinds[slices.Index(s.kinds, kind)+1:] {
		if s.first[k] != nil {
			later = append(later, s.first[k])
		}
	}
	if s.first == nil {
		s.first = map[string]*E{}
	}
	s.first[kind] = e
	return nil, later
}

// due is an event that must have arrived. Its cause happened between from and since. If
// since is zero, it need not arrive.
type due struct {
	topic       string
	from, since time.Time
	// again is a time by which the shim had surely sent it again, because the first try
	// failed. It is zero if that is unknown.
	again time.Time
}

// lateGrace is how long an event may take from the shim to the subscriber. If the
// subscription breaks within it, the event may be lost. It usually takes some
// milliseconds.
const lateGrace = 2 * time.Second

// facts returns the facts of the missing event.
func (d due) facts() fact.Facts {
	return fact.Facts{fact.Event: fact.Missing, fact.Topic: d.topic, fact.At: d.since.UTC().Format("15:04:05.000")}
}

// unheard reports whether the first try to send an event may have failed: the harness was
// not subscribed, or the shim of the exec died. containerd sends the exit and the delete
// of an init for a dead shim.
func (d due) unheard(h *run, id, exec string) bool {
	by := d.since.Add(lateGrace)
	return d.since.IsZero() || tolerated(h, eventHeard, span{d.from, by}) ||
		exec != "" && toleratedOf(h, firstTrySent, harness.Instance{ID: id}, until(d.since.Add(reportIn)))
}

// lost reports whether an event that has not arrived must have arrived, at the shim's
// first try or at a later one. It returns the facts of the missing event.
func (d due) lost(h *run, id, exec string) (fact.Facts, bool) {
	fs := d.facts()
	if !d.again.IsZero() {
		fs[fact.Event] = fact.NotSentAgain
	}
	return fs, settled(h) && !d.since.IsZero() && (!d.again.IsZero() || !d.unheard(h, id, exec))
}

// life is an init or an exec, or the init of a sandbox, with the events that are due.
type life struct {
	process
	due []due
}

// lifecycle are the topics of an init and of an exec, in their order.
var lifecycle = []string{event.TopicExecAdded, event.TopicExecStart, event.TopicCreate, event.TopicStart,
	event.TopicExit, event.TopicDelete}

// lifeOf returns the life of an init or of an exec, or nil.
func lifeOf(lives []life, id, exec string) *life {
	n := slices.IndexFunc(lives, func(l life) bool { return l.i.ID == id && l.exec() == exec })
	if n < 0 {
		return nil
	}
	return &lives[n]
}

// livesOf returns the lives of all processes.
func livesOf(h *run) (all []life) {
	for _, p := range processes(h) {
		if p.i.ID == "" {
			continue
		}
		l := life{process: p}
		must := func(topic string, from, since time.Time) {
			l.due = append(l.due, due{topic, from, since, sentAgainBy(h, p.i, from, since)})
		}
		if p.e != nil {
			must(event.TopicExecAdded, p.e.Begun, p.e.Added)
			must(event.TopicExecStart, p.e.Begun, p.e.Started)
			must(event.TopicExit, p.over(), p.over())
			all = append(all, l)
			continue
		}
		var exited, from time.Time
		if p.i.Payload.Runs > 0 {
			lived, _ := livedUntil(h, p.i)
			exited, from = exitDue(h, p.i), cmp.Or(endOf(h, p.i), lived)
		}
		must(event.TopicCreate, p.i.Begun, p.i.Created)
		must(event.TopicStart, p.i.Begun, p.i.Started)
		must(event.TopicExit, from, exited)
		// The shim may exit before it has sent this event.
		l.due = append(l.due, due{topic: event.TopicDelete, from: cmp.Or(from, p.i.Begun), since: p.i.Deleted})
		all = append(all, l)
	}
	return all
}

// sandboxLives returns the same for CRI's sandboxes, which have the events of a
// container. The exit of a sandbox is due unless a fault broke a call, or killed a
// process other than containerd. After such a fault CRI may report a lost sandbox as
// stopped. No delete is due, because CRI asks the shim to exit at that time.
func sandboxLives(h *run) (lives []life) {
	if h.CRI == nil {
		return nil
	}
	for _, d := range h.CRI.Done {
		if d.Verb != "RunPodSandbox" {
			continue
		}
		begun := firstCall(h, d.Verb)
		l := life{initOf(h, harness.Instance{ID: d.ID}), []due{
			{topic: event.TopicCreate, from: begun, since: d.At}, {topic: event.TopicStart, from: begun, since: d.At}}}
		if stopped, ok := h.CRI.DoneAt("StopPodSandbox", d.ID); ok && !tolerated(h, objectKept, until(h.After.At)) {
			l.due = append(l.due, due{topic: event.TopicExit, from: d.At, since: stopped})
		}
		lives = append(lives, l)
	}
	return lives
}

// usedAgain reports whether a create event begins another use of an id. An event with the
// pid of the first create is a duplicate.
func usedAgain(s *stream[event.Task], create *event.Task) bool {
	was := s.first[event.TopicCreate]
	return was != nil && was.PID != create.PID || s.first[event.TopicDelete] != nil
}

// noPID is -1 as it arrives in an event, from a pid file that could not be read. Up to
// 2.3.7 the shim's delete helper did not check for it.
const noPID = 1<<32 - 1

// withoutPID are the topics whose events have no pid.
var withoutPID = []string{event.TopicPaused, event.TopicResumed, event.TopicExecAdded, event.TopicOOM}

// wrongEvent returns the facts of each error in an event: it must have a pid, and an exit
// or a delete must have a time. In the first use of the id, both must belong to the
// process, if they are known.
func (l *life) wrongEvent(e *event.Task, again bool) (all []fact.Facts) {
	none := e.PID == 0 || e.PID == noPID
	if none && !slices.Contains(withoutPID, e.Topic) {
		all = append(all, fact.Facts{fact.Event: fact.NoPID})
	}
	// A client deleted it before its start.
	unstarted := e.Topic == event.TopicDelete && l != nil && l.e == nil && l.i.Started.IsZero() && !l.i.Deleted.IsZero()
	if (e.Topic == event.TopicExit || e.Topic == event.TopicDelete) && hasNoTime(e.Exited) && !unstarted {
		all = append(all, fact.Facts{fact.Event: fact.NoTime})
	}
	if l == nil || again {
		return all
	}
	if pid := int(l.pid()); pid != 0 && e.PID != pid && !none {
		all = append(all, fact.Facts{fact.Event: fact.WrongPID, fact.Reported: fmt.Sprint(e.PID),
			fact.True: fmt.Sprint(pid)})
	}
	from, to := l.exitWindow()
	if fs, wrong := wrongExitTime(e.Exited, from, minNonZero(e.Seen, to)); wrong {
		fs[fact.Event] = fact.WrongTime
		all = append(all, fs)
	}
	return all
}

// repeats returns the facts of a repeated event. By then, containerd
// may have received the exit and the delete from the shim. If the times also differ, the
// shim did not send the second event: containerd published it, although it must not.
func (l *life) repeats(first, again *event.Task) fact.Facts {
	fs := fact.Facts{fact.Event: fact.Repeated, fact.Repeat: fact.SameAgain,
		fact.Apart: again.Seen.Sub(first.Seen).Round(time.Millisecond).String()}
	switch {
	case first.Status != again.Status:
		fs[fact.Repeat], fs[fact.First], fs[fact.Reported] = fact.OtherStatus, fmt.Sprint(first.Status),
			fmt.Sprint(again.Status)
	case first.PID != again.PID:
		fs[fact.Repeat] = fact.OtherPID
	case l != nil && l.e == nil && !first.Sent.Equal(again.Sent) &&
		slices.ContainsFunc(acknowledgedWindows(l.h, l.i.ID), func(g event.Gap) bool {
			return g.Overlaps(again.Sent, again.Sent)
		}):
		fs[fact.Repeat] = fact.AlreadyReported
	}
	return fs
}

// mayBeLate reports whether an event of an exec may arrive late, because the harness may
// not have got the shim's first try.
func (l *life) mayBeLate(h *run, e event.Task) bool {
	return l != nil && e.Exec != "" && slices.ContainsFunc(l.due, func(d due) bool {
		return d.topic == e.Topic && d.unheard(h, l.i.ID, l.exec())
	})
}

// missing returns the due events that have not arrived.
func (l *life) missing(h *run, events []event.Task) (found []finding.Finding) {
	for _, d := range l.due {
		has := slices.ContainsFunc(events, func(e event.Task) bool {
			return e.Topic == d.topic && l.isOf(e) && e.Namespace == h.namespace
		})
		if fs, lost := d.lost(h, l.i.ID, l.exec()); lost && !has {
			e := event.Task{Namespace: h.namespace, Container: l.i.ID, Exec: l.exec()}
			if l.e != nil {
				e.PID = int(l.pid())
			}
			found = append(found, ofEvent(e, fs))
		}
	}
	return found
}

// minNonZero returns the earlier of a time and a bound. A zero bound does not count.
func minNonZero(at, bound time.Time) time.Time {
	if bound.IsZero() || at.Before(bound) {
		return at
	}
	return bound
}

// wrongExitTime reports whether the reported time of an end is outside the possible
// times, and returns the facts. A missing time is not wrong here.
func wrongExitTime(reported, notBefore, notAfter time.Time) (fact.Facts, bool) {
	early, late := reported.Before(notBefore.Add(-clockGrace)), reported.After(notAfter.Add(clockGrace))
	if hasNoTime(reported) || !early && !late {
		return fact.Facts{}, false
	}
	return fact.Facts{fact.At: stamp(reported), fact.NotBefore: stamp(notBefore), fact.NotAfter: stamp(notAfter)}, true
}
