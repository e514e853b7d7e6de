package judge

import (
	"testing"
	"time"

	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/oracle"
)

// takes has the client's calls take so many milliseconds each.
func takes(verb string, took ...int) func(*harness.History) {
	return func(h *harness.History) {
		for _, ms := range took {
			h.Calls = append(h.Calls, harness.Call{Who: "client", Verb: verb, Of: "c0", At: at(20),
				Took: time.Duration(ms) * time.Millisecond})
		}
	}
}

func TestRulesOfSlowCalls(t *testing.T) {
	can := func(h *harness.History) { h.Reference = &harness.Reference{Version: "v2.4.2", Outcome: harness.Held} }
	quickly := also(plain, can, takes("create", 140), takes("start", 20), takes("kill", 10))
	const late = "liveness container what=slow-call call=delete"
	judged(t, map[string]row{
		"each as long as the others": {also(quickly, takes("delete", 900)), ""},
		"one that takes seconds":     {also(quickly, takes("delete", 4000)), late},
		"an exec's Delete": {also(quickly, takes("exec-delete", 4000)),
			"liveness container what=slow-call call=exec-delete"},
		"all that take seconds": {also(plain, can, takes("create", 4000), takes("start", 2000), takes("delete", 5000)),
			""},
		"a machine that is as slow": {also(quickly, takes("delete", 4000), func(h *harness.History) {
			h.Reference.Outcome = harness.Violated
		}), ""},
		"one that waits for an end":  {also(quickly, takes("wait", 9000)), ""},
		"one that waits for a fault": {takes("delete", 4000), ""},
		"one of a pod whose payload waits": {also(quickly, takes("StopPodSandbox", 4000), func(h *harness.History) {
			h.Instances = append(h.Instances, harness.Instance{Spec: harness.Container{IgnoresTerm: true}})
		}), ""},
		"one that has failed": {also(quickly, takes("delete", 4000), func(h *harness.History) {
			h.Calls[len(h.Calls)-1].Err = &oracle.Failed{Code: "Unknown", Text: "no"}
		}), ""},
		"one that meets a restart": {also(quickly, takes("delete", 4000), downFor(30, 40)), ""},
	})
}
