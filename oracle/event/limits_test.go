package event

import (
	"strings"
	"testing"

	eventsapi "github.com/containerd/containerd/api/events"
	"github.com/containerd/containerd/v2/core/events"
	"github.com/containerd/typeurl/v2"

	"github.com/shimquake/shimquake/must"
)

// A program of a world can publish any number of events. Those above the limit are lost,
// so an event that is missing then proves nothing.
func TestAFloodOfEvents(t *testing.T) {
	var l Log
	for range maxEvents {
		l.Add(Task{Topic: TopicOOM})
	}
	if gaps := l.Gaps(); len(gaps) != 0 {
		t.Errorf("a gap before the limit: %v", gaps)
	}
	for range 2 {
		l.Add(Task{Topic: TopicExit})
	}
	all, gaps := l.Events(), l.Gaps()
	if len(all) != maxEvents || all[len(all)-1].Topic != TopicOOM || len(gaps) != 1 || !gaps[0].To.IsZero() {
		t.Errorf("%d events, and the gaps %v", len(all), gaps)
	}
}

// The longest ids that containerd allows are kept, and longer ones are not.
func TestLongIDsOfEvents(t *testing.T) {
	id, exec := strings.Repeat("i", 76), strings.Repeat("e", 76)
	for name, test := range map[string]struct {
		namespace, container, exec string
		want                       int
	}{
		"allowed":          {id, id, exec, 1},
		"a long namespace": {id + "i", id, exec, 0},
		"a long container": {id, id + "i", exec, 0},
		"a long exec":      {id, id, exec + "e", 0},
	} {
		var l Log
		body := must.Get(typeurl.MarshalAny(&eventsapi.TaskExit{ContainerID: test.container, ID: test.exec}))(t)
		l.add(&events.Envelope{Topic: TopicExit, Namespace: test.namespace, Event: body})
		must.Equal(t, len(l.Events()), test.want, name, "events")
	}
}
