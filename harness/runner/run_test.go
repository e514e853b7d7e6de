package runner

import (
	"context"
	"testing"

	"github.com/shimquake/shimquake/catalogue"
	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/must"
)

func runCase(t *testing.T, c harness.Case) harness.Verdict {
	t.Helper()
	r := &Runner{Residues: catalogue.Residues(), Evidence: t.TempDir(), KeepAll: testing.Verbose()}
	v := ranBy(t.Context(), t, r, c)
	if testing.Verbose() {
		t.Log(v.History.TimelineText())
	}
	return v
}

// ranBy runs a case, and skips the test if the machine cannot.
func ranBy(ctx context.Context, t *testing.T, r *Runner, c harness.Case) harness.Verdict {
	t.Helper()
	v := r.Run(ctx, c)
	if v.UnableHere() {
		t.Skip(v.ProblemsText())
	}
	return v
}

func exits(codes ...int) []harness.Container {
	var out []harness.Container
	for _, code := range codes {
		out = append(out, harness.Container{Exit: code})
	}
	return out
}

func TestPlainCaseHolds(t *testing.T) {
	v := runCase(t, harness.Case{Name: "plain", Workload: harness.Workload{Containers: exits(7)}})
	must.Equal(t, v.Outcome, harness.Held)
	must.Equal(t, v.History.Reached, harness.Completed)
	t.Log(v)
}

func TestPlainPodHolds(t *testing.T) {
	v := runCase(t, harness.Case{Name: "plain-pod", Workload: harness.Workload{
		API: harness.CRI, Containers: []harness.Container{{Exit: 7}, {Signal: "SIGTERM"}},
	}})
	must.Equal(t, v.Outcome, harness.Held, v)
	t.Log(v)
}
