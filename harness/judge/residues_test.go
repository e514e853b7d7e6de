package judge

import (
	"slices"
	"testing"

	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/oracle/event"
	"github.com/shimquake/shimquake/oracle/rate"
)

// One lost TaskDelete is a race. Its count has also the number of due events, so that
// many cases can show an event that is never sent.
func TestResiduesAreCounted(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*harness.History)
		want   []rate.Count
	}{
		"it came": {func(*harness.History) {}, []rate.Count{{ID: "taskdelete-lost", Of: 1, Most: 0.4}}},
		"it was lost": {func(h *harness.History) { h.Events, h.Flushed.Events = h.Events[:3], 3 },
			[]rate.Count{{ID: "taskdelete-lost", Left: 1, Of: 1, Most: 0.4}}},
		"it was lost with a signal": {func(h *harness.History) {
			end(h, 143)
			h.Events, h.Flushed.Events = h.Events[:3], 3
			h.Instances[0].Spec = harness.Container{Signal: "SIGTERM"}
		}, []rate.Count{{ID: "taskdelete-lost", Left: 1, Of: 1, Most: 0.4},
			{ID: "taskdelete-lost", Left: 1, Of: 1, Most: 0.4, End: rate.BySignal}}},
		"nobody could hear it": {func(h *harness.History) {
			h.Events, h.Flushed.Events = h.Events[:3], 3
			h.Gaps = []event.Gap{{From: at(35), To: at(45)}}
		}, nil},
		"another release": {func(h *harness.History) { h.Version = "main" }, nil},
	} {
		h := clean()
		c.change(&h)
		if got := Judge(h, catalogued).Residues; !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}
