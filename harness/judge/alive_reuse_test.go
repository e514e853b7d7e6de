package judge

import (
	"slices"
	"testing"
	"time"

	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/oracle/event"
	"github.com/shimquake/shimquake/oracle/exit"
	"github.com/shimquake/shimquake/oracle/finding"
	"github.com/shimquake/shimquake/oracle/inventory"
)

// A new handle after the second use of an id is a leak. It is not a leak if a leaked shim
// serves the second use: containerd connects to this shim again, and the shim is reported
// already.
func TestHandlesOfASecondUse(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(*harness.History)
		want   bool
	}{
		"nothing is left": {func(*harness.History) {}, true},
		"a shim is left": {func(h *harness.History) {
			left := []inventory.Process{{PID: 99, Shim: &inventory.ShimArgs{ID: "c0"}}}
			h.After.Inventory.Processes, h.Reuse.After.Inventory.Processes = left, left
		}, false},
	} {
		h := clean()
		goroutines(&h)
		h.Reuse.After.Inventory.Handles, h.After.Inventory.Handles = h.After.Inventory.Handles, h.Before.Handles
		tc.change(&h)
		v := Judge(h, catalogued)
		got := slices.ContainsFunc(v.Findings, func(f finding.Finding) bool { return f.Class == finding.ClassHandle })
		if got != tc.want {
			t.Errorf("%s: a handle is reported: %v\n%s", name, got, v)
		}
	}
}

// Reports about the second use of an id must not have data of the first use.
func TestSecondUse(t *testing.T) {
	second := func(h *harness.History) {
		h.Reuse.Use = harness.Use{ID: "c0", PID: 71, Want: 0, From: at(205)}
		h.Reuse.After.At = at(230)
	}
	says := func(status uint32, pid int, when time.Time) func(*harness.History) {
		return func(h *harness.History) {
			h.Reported = append(h.Reported, exit.Observation{
				Container: "c0", Observer: exit.ByDelete, Status: status, At: when, PID: pid})
		}
	}
	tells := func(status uint32, pid int) func(*harness.History) {
		return func(h *harness.History) {
			h.Events = append(h.Events, event.Task{Namespace: "shimquake", Topic: event.TopicDelete, Container: "c0",
				PID: pid, Status: status, Exited: at(210), Sent: at(211), Seen: at(212)})
		}
	}
	const wrong = "exit exit-code use=second"
	judged(t, map[string]row{
		"Delete tells of it":                {also(second, says(0, 71, at(210))), ""},
		"Delete tells the first's status":   {also(second, says(7, 71, at(210))), wrong},
		"Delete tells the first's pid":      {also(second, says(0, 41, at(210))), wrong + " status=wrong-pid"},
		"Delete tells the first's time":     {also(second, says(0, 71, at(20))), wrong + " status=wrong-time"},
		"the event is of it":                {also(second, tells(0, 71)), ""},
		"the event tells the first's":       {also(second, tells(7, 71)), wrong},
		"an event of the first comes late":  {also(second, tells(7, 41)), ""},
		"nobody knows how the second ended": {says(7, 41, at(20)), ""},
	})
}
