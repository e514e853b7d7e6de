package judge

import (
	"fmt"
	"slices"
	"time"

	"github.com/Masterminds/semver/v3"

	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/harness/model"
	"github.com/shimquake/shimquake/oracle/criview"
	"github.com/shimquake/shimquake/oracle/fact"
	"github.com/shimquake/shimquake/oracle/finding"
)

// eventGrace is the longest delay of a container event that is due. Two events that are
// due within it may arrive in either order. CRI wakes the waiting calls, and begins to
// watch a container, before it sends the event. See handleContainerExit and
// StartContainer of v2.4.2. The harness waits for all events before a removal, so the
// event of the removal must come last.
const eventGrace = time.Second

// criEvents: CRI's container events arrive once and in order, with the exit code that
// ContainerStatus has. An event may be missing if it was due while containerd was down. A
// second client of GetContainerEvents gets the same events.
func criEvents(h *run) (found []finding.Finding, _ []harness.Problem) {
	if h.CRI == nil || !settled(h) || h.CRI.NoEvents && hasNoCRIEvents(h.Version) {
		return nil, nil
	}
	found = append(eventsOfOneClient(h), order(h)...)
	for _, e := range h.CRI.Events {
		if e.Type == criview.Stopped {
			found = append(found, saysOtherwise(h, e)...)
		}
	}
	found = slices.Concat(found, bare(h), misdated(h))
	for _, e := range missing(h) {
		found = append(found, criEvent(e.id, e.topic, e.facts()))
	}
	return found, nil
}

// hasNoCRIEvents reports whether a release has no container events (before v1.7), or is
// unknown. A later release must have them.
func hasNoCRIEvents(release string) bool {
	v, err := semver.NewVersion(release)
	return err != nil || v.Major() == 1 && v.Minor() < 7
}

func criEvent(id, kind string, fs fact.Facts) finding.Finding {
	fs[fact.Topic] = kind
	return finding.Finding{
		Invariant: finding.Event, Class: finding.ClassCRIEvent, Subject: finding.Subject{ID: id}, Facts: fs,
	}
}

// order returns the repeated and the late events of all ids. A containerd that exits
// during a removal repeats the removal after its start, and must then send the event
// again.
func order(h *run) (found []finding.Finding) {
	streams := map[string]*stream[criview.Event]{}
	for n := range h.CRI.Events {
		e := &h.CRI.Events[n]
		if streams[e.ID] == nil {
			streams[e.ID] = &stream[criview.Event]{kinds: criview.EventTypes}
		}
		was, later := streams[e.ID].add(e.Type, e)
		if was != nil && !tolerated(h, criEventOnce, span{was.Seen, e.Seen}) {
			found = append(found, criEvent(e.ID, e.Type, fact.Facts{fact.Event: fact.Repeated, fact.Repeat: fact.SameAgain,
				fact.Apart: e.Seen.Sub(was.Seen).Round(time.Millisecond).String()}))
		}
		late := func(o *criview.Event) bool { return e.Seen.Sub(o.Seen) > eventGrace }
		if n := slices.IndexFunc(later, late); n >= 0 {
			found = append(found, criEvent(e.ID, e.Type, fact.Facts{fact.Event: fact.Late, fact.After: later[n].Type}))
		}
	}
	return found
}

// saysOtherwise returns a finding if the stopped event of a container has another state
// or exit code than ContainerStatus.
func saysOtherwise(h *run, e criview.Event) []finding.Finding {
	for _, s := range h.CRI.Statuses {
		if s.ID != e.ID || s.State != criview.Exited || e.State == "" {
			continue
		}
		switch {
		case e.State != s.State:
			return otherField(e, fact.FieldState, e.State, s.State)
		case e.ExitCode != s.ExitCode:
			return otherField(e, fact.FieldExitCode, fmt.Sprint(e.ExitCode), fmt.Sprint(s.ExitCode))
		}
	}
	return nil
}

// otherField returns the finding about a wrong field of an event.
func otherField(e criview.Event, field, reported, true_ string) []finding.Finding {
	return []finding.Finding{criEvent(e.ID, e.Type, fact.Facts{fact.Event: fact.OtherField, fact.Field: field,
		fact.Reported: reported, fact.True: true_})}
}

// bare returns the events without the status of the sandbox or of its containers. kubelet
// takes these statuses from the events, and does not ask for them. bare also returns
// events of a removal that still have the removed container. It does not judge cases with
// a fault, in which containerd sends the statuses that it could get
// (generateAndSendContainerEvent of v2.4.2).
func bare(h *run) (found []finding.Finding) {
	if tolerated(h, criEventWhole, span{}) {
		return nil
	}
	for _, e := range h.CRI.Events {
		_, ofPod := h.CRI.DoneAt("RunPodSandbox", e.ID)
		_, ofContainer := h.CRI.DoneAt("CreateContainer", e.ID)
		lacks := func(field string) {
			found = append(found, criEvent(e.ID, e.Type, fact.Facts{fact.Event: fact.NoField, fact.Field: field}))
		}
		switch {
		case e.Type == criview.Deleted && ofContainer && e.State != "":
			found = append(found, otherField(e, fact.FieldState, e.State, fact.Gone)...)
		case e.Type == criview.Deleted, !ofPod && !ofContainer: // or it is a bystander's
		case e.NoSandboxStatus:
			lacks(fact.FieldSandbox)
		case ofContainer && e.State == "" && !removing(h, e):
			lacks(fact.FieldState)
		case lacksSibling(h, e):
			lacks(fact.FieldSibling)
		}
	}
	return found
}

// removing reports whether the removal of an event's container had begun when the event
// was created. RemoveContainer ends a running container, and containerd may read the
// container's state after the removal (handleContainerExit of v2.4.2).
func removing(h *run, e criview.Event) bool {
	return slices.ContainsFunc(h.Calls, func(c harness.Call) bool {
		return c.Verb == "RemoveContainer" && !e.Created.Before(c.At) &&
			slices.ContainsFunc(h.Instances, func(i harness.Instance) bool { return i.ID == e.ID && i.Name == c.Of })
	})
}

// beforehand is the longest time from the moment at which containerd reads a container's
// state to the event with that state.
const beforehand = 200 * time.Millisecond

// lacksSibling reports whether an event of a pod lacks a container that was created
// before the event, and not removed yet.
func lacksSibling(h *run, e criview.Event) bool {
	return slices.ContainsFunc(h.Instances, func(i harness.Instance) bool {
		made, ok := h.CRI.DoneAt("CreateContainer", i.ID)
		if !ok || slices.Contains(e.Of, i.ID) || e.Created.Before(made.Add(beforehand)) {
			return false
		}
		for _, d := range h.CRI.Done {
			gone := d.Verb == "RemoveContainer" && d.ID == i.ID || d.Verb == "RemovePodSandbox"
			if gone && e.Created.After(d.At.Add(-beforehand)) {
				return false
			}
		}
		return true
	})
}

// misdated returns the events with an impossible time. kubelet ignores an event that is
// older than the last one that it got.
func misdated(h *run) (found []finding.Finding) {
	for _, e := range h.CRI.Events {
		w := window{field: fact.FieldCreated, reported: e.Created, from: model.Moment{At: h.Began},
			to: model.Moment{At: e.Seen}}
		if at := lastAlive(h, e.ID); e.Type == criview.Stopped && !at.IsZero() {
			w.from.At = at
		}
		if is, _ := w.judge(); is != "" {
			found = append(found, criEvent(e.ID, e.Type, fact.Facts{fact.Event: fact.WrongTime,
				fact.Field: w.field, fact.Is: is, fact.At: stamp(e.Created),
				fact.NotBefore: stamp(w.from.At), fact.NotAfter: stamp(w.to.At)}))
		}
	}
	return found
}

// dueEvent is a due event about an id.
type dueEvent struct {
	id string
	due
}

// missing returns the events that are due and have not come. If no client listens, CRI
// keeps an event for the next one. After a restart that may be the second client.
func missing(h *run) []dueEvent {
	events := h.CRI.Events
	if h.CRI.Second != nil {
		events = slices.Concat(events, h.CRI.Second.Events)
	}
	return slices.DeleteFunc(criDue(h), func(d dueEvent) bool {
		return tolerated(h, criEventSent, span{d.from, d.since.Add(eventGrace)}) ||
			slices.ContainsFunc(events, func(e criview.Event) bool { return e.ID == d.id && e.Type == d.topic })
	})
}

// byCall are the events that a successful call sends before its response.
var byCall = map[string][]string{
	"RunPodSandbox":    {criview.Created, criview.Started},
	"CreateContainer":  {criview.Created},
	"StartContainer":   {criview.Started},
	"RemoveContainer":  {criview.Deleted},
	"RemovePodSandbox": {criview.Deleted},
}

// criDue returns the events that must have come. Each successful call has its events. A
// stopped event is due for each started container that CRI reports as exited, and for
// each stopped sandbox. No deleted event is due if no call succeeded in creating the
// container: a container can exist, and be removed, although its creation failed.
func criDue(h *run) (all []dueEvent) {
	add := func(id, topic string, from, since time.Time) {
		all = append(all, dueEvent{id, due{topic: topic, from: from, since: since}})
	}
	for n, d := range h.CRI.Done {
		again := slices.ContainsFunc(h.CRI.Done[:n], func(o harness.CRIDone) bool {
			return o.Verb == d.Verb && o.ID == d.ID
		})
		for _, kind := range byCall[d.Verb] {
			if !again && (kind != criview.Deleted || h.CRI.Knows(d.ID)) {
				add(d.ID, kind, d.At, d.At)
			}
		}
		if started, ran := h.CRI.DoneAt("RunPodSandbox", d.ID); d.Verb == "StopPodSandbox" && ran && !again {
			add(d.ID, criview.Stopped, started, d.At)
		}
	}
	for _, s := range h.CRI.Statuses {
		if _, ran := h.CRI.DoneAt("StartContainer", s.ID); ran && s.State == criview.Exited {
			add(s.ID, criview.Stopped, lastAlive(h, s.ID), s.Seen)
		}
	}
	return all
}

// lastAlive returns the earliest possible end of a container.
func lastAlive(h *run, id string) (at time.Time) {
	if p, ok := processOf(h, id, ""); ok {
		at, _ = livedUntil(h, p.i)
	}
	return at
}
