package runner

import (
	"testing"

	"github.com/shimquake/shimquake/failpoints"
	"github.com/shimquake/shimquake/failpoints/probe/term"
	"github.com/shimquake/shimquake/harness"
)

// The steps of a pause at a point of containerd's first boot act on a containerd that
// does not respond yet.
func TestAPauseAtTheFirstBoot(t *testing.T) {
	for _, tc := range []struct {
		steps []string
		want  harness.Outcome
	}{
		{[]string{"sleep 1ms", "release"}, harness.Held},
		{[]string{"kill shim", "release"}, harness.Invalid}, // there is none yet
		{[]string{"kill containerd", "release"}, harness.Invalid},
	} {
		v := runCase(t, harness.Case{Name: "first-boot", Plan: failpoints.Plan{
			failpoints.PauseAt("stmt:containerd:runtime.ShimManager.LoadExistingShims:if-err-nil",
				failpoints.Steps(tc.steps...)...),
		}})
		if v.Outcome != tc.want || v.Outcome == harness.Invalid && !v.HasProblem(harness.ByStep) {
			t.Errorf("%v: %v", tc.steps, v)
		}
	}
}

// A fault in the first load of shims leaves containerd without a service for tasks. The
// harness restarts that containerd, and the workload runs.
func TestAFaultInTheFirstLoad(t *testing.T) {
	const at = "stmt:containerd:runtime.ShimManager.LoadExistingShims:nsDirs-err-os.ReadDir-stateDir"
	plan := failpoints.Plan{failpoints.Nth(at, 1, term.Error, "injected")}
	v := runCase(t, harness.Case{Name: "first-load", Plan: plan})
	if v.Outcome != harness.Held {
		t.Error(v)
	}
}
