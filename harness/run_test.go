package harness

import (
	"testing"

	"github.com/shimquake/shimquake/failpoints"
)

func run(t *testing.T, c Case) Verdict {
	t.Helper()
	r := &Runner{Evidence: t.TempDir(), KeepAll: testing.Verbose()}
	v := r.Run(t.Context(), c)
	if v.Unable {
		t.Skip(v.Why)
	}
	if testing.Verbose() {
		for _, e := range v.Timeline {
			t.Log(e.line(v.Timeline[0].At))
		}
	}
	return v
}

func TestPlainCaseHolds(t *testing.T) {
	v := run(t, Case{Name: "plain", Workload: Workload{Containers: []Container{{Exit: 7}}}})
	if v.Outcome != Held {
		t.Error(v)
	}
	t.Log(v)
}

func TestShutdownErrorOnce(t *testing.T) {
	v := run(t, Case{Name: "shutdown-error-once", Workload: Workload{Containers: []Container{{Exit: 7}}},
		Plan: failpoints.Plan{failpoints.Error("rpc:shim:Task.Shutdown:entry", 1, "injected")}})
	if v.Outcome != Held {
		t.Error(v)
	}
	t.Log(v)
}

func TestPlainPodHolds(t *testing.T) {
	v := run(t, Case{Name: "plain-pod", Workload: Workload{API: CRI, Containers: []Container{{Exit: 7}, {Signal: "SIGTERM"}}}})
	if v.Outcome != Held {
		t.Error(v)
	}
	t.Log(v)
}
