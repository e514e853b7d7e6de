package harness

import (
	"strings"
	"testing"
	"time"

	"github.com/shimquake/shimquake/failpoints"
	"github.com/shimquake/shimquake/failpoints/probe/term"
	"github.com/shimquake/shimquake/oracle"
)

// startLost makes the client remove a container that runs, of whose start it was not told. By then its payload has begun.
var startLost = failpoints.Once("rpc:shim:Task.Start:exit", term.Lose)

const impatient = 3 * time.Second

// What nobody compared until somebody tried: each of these told a lie, or nothing, and held.
func TestLiesThatFewAreTold(t *testing.T) {
	killed := []Container{{Signal: "SIGKILL"}}
	for _, tc := range []struct {
		name  string
		w     Workload
		plan  failpoints.Plan
		class oracle.Class
	}{
		{"no exit event of a payload that was killed", Workload{Fakeshim: "events=no-exit", Containers: killed}, nil, oracle.ClassEvent},
		{"Wait of a client that removes by force", Workload{Fakeshim: "wait=0", Containers: killed, CallTimeout: impatient},
			failpoints.Plan{startLost}, oracle.ClassExitCode},
		{"the exit of a task that was killed before it was started", Workload{Fakeshim: "exit=0"},
			failpoints.Plan{failpoints.Kill("proc:task:created")}, oracle.ClassExitCode},
	} {
		v := run(t, Case{Name: "few-are-told", Workload: tc.w, Plan: tc.plan})
		if v.Outcome != Violated || !v.Has(tc.class) {
			t.Errorf("%s: %v", tc.name, v)
		}
	}
}

// The same with a shim that tells the truth.
func TestTruthThatFewAreToldHolds(t *testing.T) {
	for _, c := range []Case{
		{Name: "killed", Workload: Workload{Containers: []Container{{Signal: "SIGKILL"}}}},
		{Name: "removed-by-force", Workload: Workload{Containers: []Container{{Signal: "SIGKILL"}}, CallTimeout: impatient}, Plan: failpoints.Plan{startLost}},
		{Name: "killed-before-start", Plan: failpoints.Plan{failpoints.Kill("proc:task:created")}},
	} {
		v := run(t, c)
		if v.Outcome != Held || len(v.Truths) != 1 {
			t.Error(v)
		}
	}
}

func TestToldAgain(t *testing.T) {
	for _, tc := range []struct {
		k    container
		good bool
	}{{container{told: true}, true}, {container{}, false}, {container{told: true, status: 137}, false}, {container{told: true, status: 255}, false}} {
		if err := toldAgain(&tc.k); (err == nil) != tc.good {
			t.Errorf("%+v: %v", tc.k, err)
		}
	}
}

// An exit of which nobody was told is not one that everybody told right.
func TestVerdictSaysThatNobodyTold(t *testing.T) {
	v := Verdict{Truths: []oracle.Truth{{Container: "c0", Status: 7, Source: "its own record"}}}
	if s := v.String(); !strings.Contains(s, "told: by nobody") {
		t.Error(s)
	}
}
