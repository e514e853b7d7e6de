package check

import (
	"slices"
	"time"

	"github.com/shimquake/shimquake/oracle/event"
	"github.com/shimquake/shimquake/oracle/fact"
	"github.com/shimquake/shimquake/oracle/finding"
	"github.com/shimquake/shimquake/oracle/inventory"
)

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

// Containers judges the events of containers' records: create and delete arrive once
// each and by turns, an update between them; and what is known to have happened was
// reported, unless nobody could hear it then.
func Containers(all []event.Container, gaps []event.Gap, lives map[inventory.Ref]ContainerLife) []finding.Finding {
	var out []finding.Finding
	last := map[inventory.Ref]string{}
	seen := map[inventory.Ref]map[string]bool{}
	for _, e := range all {
		of := inventory.Ref{Namespace: e.Namespace, ID: e.ID}
		if seen[of] == nil {
			seen[of] = map[string]bool{}
		}
		seen[of][e.Topic] = true
		if fs, wrong := follows(last[of], e.Topic); wrong && !heardBefore(gaps, e) {
			out = append(out, containerEvent(of, e.Topic, fs))
		}
		if e.Topic != event.TopicContainerDelete && lives[of].OfImage {
			out = append(out, bareRecord(of, e)...)
		}
		if e.Topic != event.TopicContainerUpdate {
			last[of] = e.Topic
		}
	}
	for of, l := range lives {
		for _, due := range []struct {
			topic string
			in    Span
		}{{event.TopicContainerCreate, l.There}, {event.TopicContainerDelete, l.Gone}} {
			if due.in.To.IsZero() || seen[of][due.topic] || overlaps(gaps, due.in.From, due.in.To) {
				continue
			}
			out = append(out, containerEvent(of, due.topic, fact.Facts{
				fact.Event: fact.Missing, fact.At: due.in.To.UTC().Format("15:04:05.000"),
			}))
		}
	}
	finding.Sort(out)
	return out
}

// follows reports whether an event cannot come after the last of its container, and with
// what facts.
func follows(last, topic string) (fact.Facts, bool) {
	switch {
	case topic == last:
		return fact.Facts{fact.Event: fact.Repeated}, true
	case last == event.TopicContainerDelete && topic == event.TopicContainerUpdate:
		return fact.Facts{fact.Event: fact.Late, fact.After: last}, true
	}
	return fact.Facts{}, false
}

// heardBefore reports whether nobody could hear all that came before an event.
func heardBefore(gaps []event.Gap, e event.Container) bool {
	return slices.ContainsFunc(gaps, func(g event.Gap) bool { return g.From.Before(e.Seen) })
}

// bareRecord: what tells of a container says what it is made of.
func bareRecord(of inventory.Ref, e event.Container) (out []finding.Finding) {
	lacks := func(field, is string) {
		if is == "" {
			out = append(out, containerEvent(of, e.Topic, fact.Facts{fact.Event: fact.NoField, fact.Field: field}))
		}
	}
	lacks(fact.FieldImage, e.Image)
	if e.Topic == event.TopicContainerCreate {
		lacks(fact.FieldRuntime, e.Runtime)
	}
	return out
}

func containerEvent(of inventory.Ref, topic string, fs fact.Facts) finding.Finding {
	fs[fact.Topic] = topic
	return finding.Finding{
		Invariant: finding.Event, Class: finding.ClassEvent, Subject: finding.Subject{Namespace: of.Namespace, ID: of.ID},
		Facts: fs,
	}
}
