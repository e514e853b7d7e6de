package runner

import (
	"slices"
	"strings"
	"testing"

	"github.com/shimquake/shimquake/catalogue"
	"github.com/shimquake/shimquake/failpoints"
	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/harness/script"
	"github.com/shimquake/shimquake/must"
)

// TestTrace checks the paths of well-known points in a plain lifecycle and in one with a
// restart.
func TestTrace(t *testing.T) {
	must.TakeLong(t, "runs containerd")
	r := Runner{Residues: catalogue.Residues()}
	for name, w := range map[string]harness.Workload{
		"plain":   {},
		"restart": {Script: script.Restarting(), Containers: []harness.Container{{Exit: 3}, {Exit: 7}}},
	} {
		t.Run(name, func(t *testing.T) {
			trace, err := r.Trace(t.Context(), harness.Case{Name: "trace", Workload: w})
			if trace.Verdict.UnableHere() {
				t.Skip(err) // not root, or no world to be had
			}
			must.Succeed(t, err)
			if trace.Verdict.Outcome != harness.Held {
				t.Fatal(trace.Verdict)
			}
			for point, path := range map[string]string{
				"rpc:containerd:Task.Create:entry": "create", "rpc:shim:Task.Start:entry": "start",
				"rpc:shim:Task.Wait:exit":    "exit",
				"rpc:shim:Task.Delete:entry": "delete", "rpc:containerd:Task.Shutdown:entry": "delete",
			} {
				at := failpoints.MustPoint(point)
				if !slices.ContainsFunc(trace.Hits, func(p harness.TracedHit) bool { return p.Point == at && p.Path == path }) {
					t.Errorf("%s was not passed on the path %s", point, path)
				}
			}
			for _, p := range trace.Hits {
				if strings.HasPrefix(p.Point.What, "tasks.local.List") {
					t.Errorf("%s, on the path %s: only the oracle lists tasks", p.Point, p.Path)
				}
			}
			loads := slices.ContainsFunc(
				trace.Hits,
				func(p harness.TracedHit) bool { return p.Path == "load" && p.Point.Kind == failpoints.RPC },
			)
			must.Equal(t, loads, w.Restarts(), "ttrpc calls while containerd loads")
		})
	}
}
