package runner

import (
	"slices"
	"testing"

	"github.com/shimquake/shimquake/failpoints"
	"github.com/shimquake/shimquake/harness"
)

// A fault at the first Create meets the workload, although bystanders were created
// before. A signal meets the workload's shim, too. Hits of bystanders are left out.
func TestBystandersMeetNoFault(t *testing.T) {
	const create = "rpc:shim:Task.Create:entry"
	for _, tc := range []struct {
		name string
		api  harness.API
		plan failpoints.Plan
	}{
		{"probe", harness.TaskAPI, failpoints.Plan{failpoints.Crash(create, 1)}},
		{"signal", harness.TaskAPI, failpoints.Plan{failpoints.Kill("proc:shim:created")}},
		{"restart", harness.CRI, failpoints.Plan{failpoints.Kill("proc:containerd:running")}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			v := runCase(t, harness.Case{Name: "bystanders-" + tc.name, Plan: tc.plan, Workload: harness.Workload{
				API: tc.api, Bystander: true, Containers: []harness.Container{{Signal: "SIGKILL"}},
			}})
			const want = 2 // a task, and its twin or a pod
			if v.Outcome != harness.Held || len(v.History.Bystanders) != want {
				t.Fatalf("%d bystanders\n%v", len(v.History.Bystanders), v)
			}
			for _, b := range v.History.Bystanders {
				if b.Asked == 0 || b.Output.Last == 0 || b.Removed.IsZero() {
					t.Errorf("its record is incomplete: %+v", b)
				}
				at := slices.IndexFunc(v.History.Hits, func(h failpoints.Hit) bool { return h.ID == b.ID })
				if at >= 0 {
					t.Errorf("a hit of a bystander is counted: %+v", v.History.Hits[at])
				}
			}
		})
	}
}
