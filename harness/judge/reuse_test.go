package judge

import (
	"slices"
	"testing"

	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/oracle"
)

// What the second use of an id opens is a leak, but where a shim is left that may serve
// it, and is connected anew for it: that is reported already.
func TestHandlesOfASecondUse(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(*harness.History)
		want   bool
	}{
		"nothing is left": {func(*harness.History) {}, true},
		"a shim is left": {func(h *harness.History) {
			left := []oracle.Process{{PID: 99, Shim: &oracle.ShimArgs{ID: "c0"}}}
			h.After.Inventory.Processes, h.Reuse.After.Inventory.Processes = left, left
		}, false},
	} {
		h := clean()
		goroutines(&h)
		h.Reuse.After.Inventory.Handles, h.After.Inventory.Handles = h.After.Inventory.Handles, h.Before.Handles
		tc.change(&h)
		v := Judge(h)
		got := slices.ContainsFunc(v.Findings, func(f oracle.Finding) bool { return f.Class == oracle.ClassHandle })
		if got != tc.want {
			t.Errorf("%s: a handle is reported: %v\n%s", name, got, v)
		}
	}
}

// Who dies with the shim of a second use is told of, with its own pid.
func TestOrphaned(t *testing.T) {
	orphan := func(h *harness.History) {
		h.Case.Workload.KillAgain, h.Orphan = true, &harness.Orphan{ID: "c0", PID: 71, At: at(210), Until: at(220)}
	}
	tells := func(pid int) func(*harness.History) {
		return func(h *harness.History) {
			h.Events = append(h.Events, oracle.TaskEvent{Namespace: "shimquake", Topic: oracle.TopicExit, Container: "c0",
				PID: pid, Status: 137, Exited: at(211), Sent: at(212), Seen: at(213)})
		}
	}
	const missing = "event event event=missing topic=/tasks/exit use=second"
	judged(t, map[string]row{
		"it is told of":             {also(orphan, tells(71)), ""},
		"nobody tells of it":        {orphan, missing},
		"the first use's end again": {also(orphan, tells(41)), missing},
		"nobody could hear it": {also(orphan, func(h *harness.History) {
			h.Gaps = []oracle.Gap{{From: at(211), To: at(213)}}
		}), ""},
		"its shim's death explains nothing of the first": {also(orphan, tells(71), killedByNobody,
			func(h *harness.History) { h.Kills = []harness.Kill{{PID: 70, Who: "shim", At: at(210)}} }),
			"end end status=killed"},
	})
}
