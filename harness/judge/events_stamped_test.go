package judge

import (
	"slices"
	"testing"

	"github.com/shimquake/shimquake/failpoints"
	"github.com/shimquake/shimquake/failpoints/probe/term"
	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/oracle/fact"
	"github.com/shimquake/shimquake/oracle/finding"
)

// Each row has an exit at 30 ms, whose event the shim could not send at 31.
func TestRulesOfStamps(t *testing.T) {
	told := func(sent int, change ...func(*harness.History)) func(*harness.History) {
		return func(h *harness.History) {
			h.Hits = append(h.Hits, hit(forwarded, 31, func(h *failpoints.Hit) { h.ID, h.Err = "", "ttrpc: closed" }))
			h.Flushed.Hits++
			h.Events[2].Sent, h.Events[2].Seen = at(sent), at(1032)
			h.Done, h.After.At = at(10_000), at(10_001)
			for _, c := range change {
				c(h)
			}
		}
	}
	last := func(change func(*failpoints.Hit)) func(*harness.History) {
		return func(h *harness.History) { change(&h.Hits[len(h.Hits)-1]) }
	}
	for name, tt := range map[string]struct {
		change func(*harness.History)
		late   bool
	}{
		"when it was ready":                {told(31), false},
		"when it was sent again":           {told(1031), true},
		"a slow shim":                      {told(900), false},
		"nothing was tried before":         {told(1031, last(func(h *failpoints.Hit) { h.Err = "" })), false},
		"something was tried before it":    {told(1031, last(func(h *failpoints.Hit) { h.Time = at(29) })), false},
		"another shim's could not be sent": {told(1031, last(func(h *failpoints.Hit) { h.PID = 43 })), false},
		"its shim was killed":              {told(1031, func(h *harness.History) { kill(h, "shim", 42) }), false},
		"its shim was held":                {told(1031, last(func(h *failpoints.Hit) { h.Did = term.Pause })), false},
		"the event of its create": {func(h *harness.History) {
			h.Hits = append(h.Hits, hit(forwarded, 8, func(h *failpoints.Hit) { h.ID, h.Err = "", "no" }))
			h.Flushed.Hits++
			h.Events[0].Sent = at(1008)
		}, true},
		"the event of its create, as it was ready": {func(h *harness.History) {
			h.Hits = append(h.Hits, hit(forwarded, 8, func(h *failpoints.Hit) { h.ID, h.Err = "", "no" }))
			h.Flushed.Hits++
			h.Events[0].Seen = at(1008)
		}, false},
		"containerd has told of it before": {told(31, func(h *harness.History) {
			again := h.Events[2]
			again.Sent, again.Seen = at(1031), at(1033)
			h.Events = slices.Insert(h.Events, 3, again)
		}), false},
		"containerd has refused it": {told(1031, func(h *harness.History) { h.Hits[2].Did = term.Off }), true},
	} {
		t.Run(name, func(t *testing.T) {
			h := clean()
			tt.change(&h)
			late := slices.ContainsFunc(Judge(h, catalogued).Findings, func(f finding.Finding) bool {
				return f.Facts[fact.Event] == fact.StampedLate
			})
			if late != tt.late {
				t.Errorf("late: %v\n%s", late, Judge(h, catalogued))
			}
		})
	}
}
