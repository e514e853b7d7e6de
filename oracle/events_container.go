package oracle

import (
	"slices"
	"time"

	eventsapi "github.com/containerd/containerd/api/events"
	"github.com/containerd/containerd/v2/core/events"
)

// The topics of the events of a container's record, which has no process.
const (
	TopicContainerCreate = "/containers/create"
	TopicContainerUpdate = "/containers/update"
	TopicContainerDelete = "/containers/delete"
)

// ContainerEvent is one event of containerd's stream about the record of a container.
type ContainerEvent struct {
	Namespace string `json:"namespace"`
	Topic     string `json:"topic"`
	ID        string `json:"id"`
	// Image and Runtime are those that a create or an update tells.
	Image   string    `json:"image,omitempty"`
	Runtime string    `json:"runtime,omitempty"`
	Sent    time.Time `json:"sent"` // the envelope's timestamp
	Seen    time.Time `json:"seen"` // when it arrived here
}

// Containers returns a copy of the events of containers' records in the order of their
// arrival; never nil.
func (l *EventLog) Containers() []ContainerEvent {
	l.mu.Lock()
	defer l.mu.Unlock()
	return append([]ContainerEvent{}, l.containers...)
}

// addContainer adds what an envelope tells of a container's record, if it does.
func (l *EventLog) addContainer(env *events.Envelope, body any) {
	e := ContainerEvent{Namespace: env.Namespace, Topic: env.Topic, Sent: env.Timestamp, Seen: time.Now()}
	switch b := body.(type) {
	case *eventsapi.ContainerCreate:
		e.ID, e.Image, e.Runtime = b.ID, b.Image, b.GetRuntime().GetName()
	case *eventsapi.ContainerUpdate:
		e.ID, e.Image = b.ID, b.Image
	case *eventsapi.ContainerDelete:
		e.ID = b.ID
	default:
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.containers = append(l.containers, e)
}

// ContainerLife is what is known of the record of one container without its events.
type ContainerLife struct {
	// There are the times between which it was made; Gone those between which it was
	// removed. The zero Span: that is not known, or was not so.
	There, Gone Span
	// OfImage reports that it was asked for with an image.
	OfImage bool
}

// Span is the time in which something has happened: not before From, and not after To.
type Span struct{ From, To time.Time }

// CheckContainers judges the events of containers' records: create and delete arrive once
// each and by turns, an update between them; and what is known to have happened was
// reported, unless nobody could hear it then.
func CheckContainers(all []ContainerEvent, gaps []Gap, lives map[Ref]ContainerLife) []Finding {
	var out []Finding
	last := map[Ref]string{}
	seen := map[Ref]map[string]bool{}
	for _, e := range all {
		of := Ref{Namespace: e.Namespace, ID: e.ID}
		if seen[of] == nil {
			seen[of] = map[string]bool{}
		}
		seen[of][e.Topic] = true
		if fs, wrong := follows(last[of], e.Topic); wrong && !heardBefore(gaps, e) {
			out = append(out, containerEvent(of, e.Topic, fs))
		}
		if e.Topic != TopicContainerDelete && lives[of].OfImage {
			out = append(out, bareRecord(of, e)...)
		}
		if e.Topic != TopicContainerUpdate {
			last[of] = e.Topic
		}
	}
	for of, l := range lives {
		for _, due := range []struct {
			topic string
			in    Span
		}{{TopicContainerCreate, l.There}, {TopicContainerDelete, l.Gone}} {
			if due.in.To.IsZero() || seen[of][due.topic] || overlaps(gaps, due.in.From, due.in.To) {
				continue
			}
			out = append(out, containerEvent(of, due.topic, Facts{
				FactEvent: Missing, FactAt: due.in.To.UTC().Format("15:04:05.000"),
			}))
		}
	}
	Sort(out)
	return out
}

// follows reports whether an event cannot come after the last of its container, and with
// what facts.
func follows(last, topic string) (Facts, bool) {
	switch {
	case topic == last:
		return Facts{FactEvent: Repeated}, true
	case last == TopicContainerDelete && topic == TopicContainerUpdate:
		return Facts{FactEvent: Late, FactAfter: last}, true
	}
	return Facts{}, false
}

// heardBefore reports whether nobody could hear all that came before an event.
func heardBefore(gaps []Gap, e ContainerEvent) bool {
	return slices.ContainsFunc(gaps, func(g Gap) bool { return g.From.Before(e.Seen) })
}

// bareRecord: what tells of a container says what it is made of.
func bareRecord(of Ref, e ContainerEvent) (out []Finding) {
	lacks := func(field, is string) {
		if is == "" {
			out = append(out, containerEvent(of, e.Topic, Facts{FactEvent: NoField, FactField: field}))
		}
	}
	lacks(FieldImage, e.Image)
	if e.Topic == TopicContainerCreate {
		lacks(FieldRuntime, e.Runtime)
	}
	return out
}

func containerEvent(of Ref, topic string, fs Facts) Finding {
	fs[FactTopic] = topic
	return Finding{
		Invariant: Event, Class: ClassEvent, Subject: Subject{Namespace: of.Namespace, ID: of.ID}, Facts: fs,
	}
}
