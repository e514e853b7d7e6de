package runner

import (
	"testing"

	"github.com/shimquake/shimquake/failpoints"
	"github.com/shimquake/shimquake/failpoints/probe/term"
	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/must"
)

// containerd may create a pod after the client has given up the call, and after the
// client has removed all pods. The client removes it later.
func TestAPodOfACallThatWasGivenUpIsNoLeak(t *testing.T) {
	f := failpoints.Once("stmt:containerd:cri.criService.RunPodSandbox:defer-func#7", term.Pause)
	for _, text := range []string{"cancel call", "await call", "sleep 300ms", "release"} {
		step := must.Get(failpoints.ParseStep(text))(t)
		f.Meanwhile = append(f.Meanwhile, step)
	}
	v := runCase(t, harness.Case{Name: "given-up", Workload: harness.Workload{API: harness.CRI},
		Plan: failpoints.Plan{f}})
	if v.Outcome != harness.Held {
		t.Fatal(v)
	}
	removed := 0
	for _, c := range v.History.Calls {
		if c.Verb == "RemovePodSandbox" && c.Err == nil {
			removed++
		}
	}
	if removed == 0 {
		t.Error("no pod was removed late, so the test shows nothing")
	}
}
