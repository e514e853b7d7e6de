package runner

import (
	"testing"

	"github.com/shimquake/shimquake/failpoints"
	"github.com/shimquake/shimquake/harness"
)

// The steps of a pause at a point of containerd's very first boot are done to a
// containerd that does not answer yet.
func TestAPauseAtTheFirstBoot(t *testing.T) {
	for _, steps := range [][]string{
		{"wait 1ms", "release"}, {"stop containerd", "cont containerd"}, {"kill containerd", "release"}, {"kill shim"},
	} {
		v := runCase(t, harness.Case{Name: "first-boot", Plan: failpoints.Plan{
			failpoints.PauseAt("stmt:containerd:server.New#1", failpoints.Steps(steps...)...),
		}})
		if v.History.Reached == "" {
			t.Errorf("%v: %v", steps, v)
		}
		t.Log(steps, v.Outcome, v.Why())
	}
}
