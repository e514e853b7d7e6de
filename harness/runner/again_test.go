package runner

import (
	"testing"

	"github.com/shimquake/shimquake/catalogue"
	"github.com/shimquake/shimquake/failpoints"
	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/must"
)

// TestBrief counts the uses of the id. The second use is complete after a fault that
// containerd has survived, and has no task after a crash.
func TestBrief(t *testing.T) {
	must.TakeLong(t, "runs containerd")
	for name, test := range map[string]struct {
		brief          bool
		fault          failpoints.Fault
		creates, waits int
	}{
		"crash":           {true, failpoints.Crash("rpc:containerd:Task.Delete:exit", 1), 2, 1},
		"crash, in whole": {false, failpoints.Crash("rpc:containerd:Task.Delete:exit", 1), 2, 2},
		"error":           {true, failpoints.Error("rpc:shim:Task.Shutdown:entry", 1, "x"), 2, 2},
	} {
		t.Run(name, func(t *testing.T) {
			r := &Runner{Residues: catalogue.Residues(), Brief: test.brief}
			v := ranBy(t.Context(), t, r, harness.Case{Name: "brief", Plan: failpoints.Plan{test.fault}})
			if v.Outcome != harness.Held {
				t.Fatal(v)
			}
			creates, waits := 0, 0
			for _, c := range v.History.Calls {
				switch c.Verb {
				case "create", "new":
					creates++
				case "wait":
					waits++
				}
			}
			if creates != test.creates || waits != test.waits {
				t.Errorf("%d creates and %d waits, want %d and %d", creates, waits, test.creates, test.waits)
			}
		})
	}
}
