package judge

import (
	"testing"
	"time"

	"github.com/shimquake/shimquake/failpoints"
	"github.com/shimquake/shimquake/failpoints/probe/term"
	"github.com/shimquake/shimquake/fixtures/containerd/daemon"
	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/oracle/event"
	"github.com/shimquake/shimquake/oracle/inventory"
)

// Each row changes the history of a container whose record was made and removed, both of
// which were reported.
func TestRecords(t *testing.T) {
	eventOf := func(topic string, ms int) event.Container {
		e := event.Container{Namespace: daemon.TaskNamespace, Topic: topic, ID: "c0", Seen: at(ms), Sent: at(ms)}
		if topic == event.TopicContainerCreate {
			e.Image, e.Runtime = "image", "runtime"
		}
		return e
	}
	create, remove := eventOf(event.TopicContainerCreate, 5), eventOf(event.TopicContainerDelete, 45)
	are := func(all ...event.Container) func(*harness.History) {
		return func(h *harness.History) { h.Records = append([]event.Container{}, all...) }
	}
	removed := func(h *harness.History) { h.Calls = append(h.Calls, calls("remove", 42)...) }
	containerdFails := func(ms int) func(*harness.History) {
		return func(h *harness.History) {
			h.Hits = append(h.Hits, hit("stmt:containerd:x:y", ms, func(h *failpoints.Hit) {
				h.Who, h.Fault, h.Did = "containerd", 0, term.Error
			}))
		}
	}
	rows := map[string]row{
		"both, once":                    {are(create, remove), ""},
		"they were not kept":            {func(h *harness.History) { h.Records = nil }, ""},
		"the removal is told to nobody": {are(create), "event event event=missing topic=/containers/delete"},
		"nor is that it was made":       {are(), "event event event=missing topic=/containers/create"},
		"it is still there": {also(are(create), func(h *harness.History) {
			h.After.Inventory.Daemon.Containers = []inventory.Ref{{Namespace: daemon.TaskNamespace, ID: "c0"}}
		}), "leak container task=none"},
		"removed twice": {are(create, remove, eventOf(event.TopicContainerDelete, 46)),
			"event event event=repeated topic=/containers/delete"},
		"made, removed, and so again": {are(create, remove, create, remove), ""},
		"updated when it was gone": {are(create, remove, func() event.Container {
			e := eventOf(event.TopicContainerUpdate, 46)
			e.Image = "image"
			return e
		}()), "event event event=late topic=/containers/update after=/containers/delete"},
		"of no image": {are(func() event.Container { e := create; e.Image = ""; return e }(), remove),
			"event event event=no-field topic=/containers/create field=image"},
		"nobody has asked for an image": {also(are(func() event.Container { e := create; e.Image = ""; return e }(),
			remove), func(h *harness.History) { h.Instances[0].Created = time.Time{} }), ""},
		"a call of its removal was broken": {also(are(create), containerdFails(43)), ""},
		"a call before was broken": {also(are(create), containerdFails(35)),
			"event event event=missing topic=/containers/delete"},
		"removed while containerd was down": {also(are(create), func(h *harness.History) {
			h.Deaths = []daemon.Death{{At: at(44), Asked: true, BackIn: 2e6}}
		}), ""},
		"down long before it was removed": {also(are(create), func(h *harness.History) {
			h.Deaths = []daemon.Death{{At: at(35), Asked: true, BackIn: 2e6}}
		}), "event event event=missing topic=/containers/delete"},
		"in another namespace": {are(create, func() event.Container { e := remove; e.Namespace = "moby"; return e }()),
			"event event event=missing topic=/containers/delete"},
	}
	for name, r := range rows {
		change := r.change
		r.change = func(h *harness.History) { removed(h); h.Done = at(48); change(h) }
		rows[name] = r
	}
	judged(t, rows)
}
