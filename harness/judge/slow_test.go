package judge

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/oracle/callerr"
	"github.com/shimquake/shimquake/oracle/fact"
	"github.com/shimquake/shimquake/oracle/finding"
)

// takes sets how many milliseconds each of the client's calls takes.
func takes(verb string, took ...int) func(*harness.History) {
	return func(h *harness.History) {
		for _, ms := range took {
			h.Calls = append(h.Calls, harness.Call{Who: "client", Verb: verb, Of: "c0", At: at(20),
				Took: time.Duration(ms) * time.Millisecond})
		}
	}
}

// stops makes the client stop some containers of a pod concurrently. Each stop takes
// these milliseconds, and the first container ignores SIGTERM.
func stops(took ...int) func(*harness.History) {
	return func(h *harness.History) {
		h.Instances = nil
		for n, ms := range took {
			name := fmt.Sprintf("c%d", n)
			h.Instances = append(h.Instances, harness.Instance{Name: name, ID: name,
				Spec: harness.Container{Signal: "SIGTERM", IgnoresTerm: n == 0}})
			h.Calls = append(h.Calls, harness.Call{Who: "client", Verb: "StopContainer", Of: name, At: at(20 + n),
				Took: time.Duration(ms) * time.Millisecond})
		}
	}
}

func TestHeldUp(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(*harness.History)
		want   bool
	}{
		"each for itself":  {also(plain, stops(1010, 30, 40)), false},
		"one is late":      {also(plain, stops(1010, 1030, 40)), false},
		"all wait for one": {also(plain, stops(1010, 1030, 1060)), true},
		"the other alone":  {also(plain, stops(1010, 1030)), false},
		"a repeated stop": {also(plain, stops(1010, 30, 40), func(h *harness.History) {
			again := h.Calls[len(h.Calls)-3]
			again.Took = time.Millisecond
			h.Calls = append(h.Calls, again)
		}), false},
		"where something may be broken": {stops(1010, 1030, 1060), false},
		"when it is over": {also(plain, stops(1010, 30, 40), func(h *harness.History) {
			for n := range h.Calls {
				h.Calls[n].At = at(20 + 1200*n)
			}
		}), false},
	} {
		h := clean()
		tc.change(&h)
		v := Judge(h, catalogued)
		if got := slices.ContainsFunc(v.Findings, func(f finding.Finding) bool {
			return f.Facts[fact.What] == fact.ASlowCall && f.Facts[fact.After] == fact.AnotherStop
		}); got != tc.want {
			t.Errorf("%s: %v\n%s", name, got, v)
		}
	}
}

// background makes the container's exec leave a child.
func background(h *harness.History) {
	h.Case.Workload.Containers = []harness.Container{{Exit: 7, Execs: []harness.ExecSpec{{Exit: 9, LeavesChild: true}}}}
}

// lastOfExec makes the last call one for an exec.
func lastOfExec(h *harness.History) { h.Calls[len(h.Calls)-1].Of = "c0/e0" }

func TestRulesOfSlowCalls(t *testing.T) {
	can := func(h *harness.History) { h.Reference = &harness.Reference{Version: "v2.4.2", Outcome: harness.Held} }
	quickly := also(plain, can, takes("create", 140), takes("start", 20), takes("kill", 10))
	const late = "liveness container what=slow-call call=delete"
	judged(t, map[string]row{
		"each as long as the others": {also(quickly, takes("delete", 900)), ""},
		"one that takes seconds":     {also(quickly, takes("delete", 4000)), late},
		"while it had no processor": {also(quickly, takes("delete", 4000), func(h *harness.History) {
			h.Calls[len(h.Calls)-1].Still = 3 * time.Second
		}), ""},
		"that had no processor for some time": {also(quickly, takes("delete", 9000), func(h *harness.History) {
			h.Calls[len(h.Calls)-1].Still = 3 * time.Second
		}), late},
		"of an output that nobody reads": {also(quickly, func(h *harness.History) {
			h.Case.Workload.Containers = []harness.Container{{Exit: 7, Lines: harness.UnreadLines, Unread: true}}
		}, takes("delete", 10_040)), ""},
		"an exec's Delete": {also(quickly, takes("delete", 4000), lastOfExec),
			"liveness container what=slow-call call=delete"},
		"that of an exec whose child holds its output": {also(quickly, takes("delete", 11_000), lastOfExec, background), ""},
		"that of one whose shim waits for the child's end": {also(quickly, takes("delete", 15_000), lastOfExec, background),
			"liveness container what=slow-call call=delete"},
		"another of such a container": {also(quickly, takes("delete", 11_000), background), late},
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
			h.Calls[len(h.Calls)-1].Err = &callerr.Failed{Code: "Unknown", Text: "no"}
		}), ""},
		"one that meets a restart": {also(quickly, takes("delete", 4000), downFor(30, 40)), ""},
	})
}
