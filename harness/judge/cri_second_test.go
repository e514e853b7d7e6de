package judge

import (
	"slices"
	"testing"
	"time"

	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/oracle/criview"
)

// Two clients get the same events of a pod. Each row changes the events of the second
// client.
func TestCRISecond(t *testing.T) {
	second := func(change func(*harness.CRISecond)) func(*harness.History) {
		return func(h *harness.History) {
			for n := range h.CRI.Events {
				h.CRI.Events[n].Created = h.CRI.Events[n].Seen
			}
			s := &harness.CRISecond{Since: at(1), Events: slices.Clone(h.CRI.Events)}
			for n := range s.Events {
				s.Events[n].Seen = s.Events[n].Seen.Add(time.Millisecond)
			}
			h.CRI.Second = s
			change(s)
		}
	}
	without := func(from, to int) func(*harness.CRISecond) {
		return func(s *harness.CRISecond) { s.Events = slices.Delete(s.Events, from, to) }
	}
	early := func(s *harness.CRISecond) { s.Since = at(1).Add(-askedForEvents) }
	const missed = "event cri-event event=missing by=another-client"
	judgedPod(t, map[string]row{
		"the same":                {second(func(*harness.CRISecond) {}), ""},
		"nobody else has asked":   {func(*harness.History) {}, ""},
		"not of the first":        {second(without(0, 2)), ""},
		"not of one meanwhile":    {second(without(3, 4)), missed + " topic=CONTAINER_STARTED_EVENT"},
		"not of the last":         {second(without(7, 8)), missed + " topic=CONTAINER_DELETED_EVENT"},
		"of nothing, just asked":  {second(without(0, 8)), ""},
		"of nothing at all":       {second(func(s *harness.CRISecond) { early(s); without(0, 8)(s) }), missed},
		"not of the first, early": {second(func(s *harness.CRISecond) { early(s); without(0, 1)(s) }), missed},
		"the first is not told one": {also(second(func(*harness.CRISecond) {}), func(h *harness.History) {
			h.CRI.Second.Events = slices.Insert(h.CRI.Second.Events, 3, criview.Event{Type: criview.Started, ID: "c9",
				Created: at(19), Seen: at(19)})
		}), missed + " topic=CONTAINER_STARTED_EVENT"},
		"the first is not told the first one": {also(second(func(*harness.CRISecond) {}), func(h *harness.History) {
			h.CRI.Events = h.CRI.Events[1:]
		}), ""},
		"it is told otherwise": {second(func(s *harness.CRISecond) { s.Events[4].ExitCode++ }), missed},
		"it is told no more": {second(func(s *harness.CRISecond) {
			without(4, 8)(s)
			s.Err = failed("Unavailable", "x")
		}), missed},
		"a fault may explain it": {also(second(without(3, 4)), killsShimAt(30)), ""},
	})
}
