package runner

import (
	"testing"
	"time"

	"github.com/shimquake/shimquake/failpoints"
	"github.com/shimquake/shimquake/failpoints/probe/term"
	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/oracle/finding"
)

// startLost loses the response of Start, so that the client removes a running
// container. Its payload has begun by then.
var startLost = failpoints.Once("rpc:shim:Task.Start:exit", term.Lose)

// sandboxUnknown is the statement in which RemovePodSandbox looks for its sandbox.
const sandboxUnknown = "stmt:containerd:cri.criService.RemovePodSandbox:sandbox-err-c.sandboxStore.Get-r.GetPodS"

const impatient = 3 * time.Second

// Each of these cases reported a wrong exit status, or none, and held before a rule
// compared it.
func TestWrongExitsReportedToFew(t *testing.T) {
	killed := []harness.Container{{Signal: "SIGKILL"}}
	for _, tc := range []struct {
		name  string
		w     harness.Workload
		plan  failpoints.Plan
		class finding.Class
	}{
		{"no exit event of a payload that was killed", harness.Workload{Fakeshim: "events=no-exit", Containers: killed},
			nil, finding.ClassEvent},
		{"Wait of a client that removes by force", harness.Workload{Fakeshim: "wait=0", Containers: killed,
			CallTimeout: impatient},
			failpoints.Plan{startLost}, finding.ClassExitCode},
		{"the exit of a task that was killed before it was started", harness.Workload{Fakeshim: "exit=0"},
			failpoints.Plan{failpoints.Kill("proc:task:created")}, finding.ClassExitCode},
	} {
		v := runCase(t, harness.Case{Name: "reported-to-few", Workload: tc.w, Plan: tc.plan})
		if v.Outcome != harness.Violated || !v.Has(tc.class) {
			t.Errorf("%s: %v", tc.name, v)
		}
	}
}

// The same cases hold with a correct shim.
func TestTruthReportedToFewHolds(t *testing.T) {
	for _, c := range []harness.Case{
		{Name: "killed", Workload: harness.Workload{Containers: []harness.Container{{Signal: "SIGKILL"}}}},
		{Name: "removed-by-force", Workload: harness.Workload{Containers: []harness.Container{{Signal: "SIGKILL"}},
			CallTimeout: impatient}, Plan: failpoints.Plan{startLost}},
		{Name: "killed-before-start", Plan: failpoints.Plan{failpoints.Kill("proc:task:created")}},
		// The harness tries names in a pod of its own. The events of that pod belong to no
		// object of the case.
		{Name: "removed-again", Workload: harness.Workload{API: harness.CRI}, Plan: failpoints.Plan{
			failpoints.Once(sandboxUnknown, term.Error),
		}},
	} {
		v := runCase(t, c)
		if v.Outcome != harness.Held || len(v.Truths) != 1 {
			t.Error(v)
			continue
		}
		ran := c.Name == "removed-by-force" // when its client removed it
		if gone := v.History.Instances[0].Gone; gone.IsZero() != ran {
			t.Errorf("%s: gone before it was removed, at %s", c.Name, gone)
		}
	}
}
