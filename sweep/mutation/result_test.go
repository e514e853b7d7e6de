package mutation

import (
	"strings"
	"testing"

	"github.com/shimquake/shimquake/failpoints"
	"github.com/shimquake/shimquake/oracle"
	"github.com/shimquake/shimquake/sweep/plan"
	"github.com/shimquake/shimquake/sweep/triage"
)

func TestResult(t *testing.T) {
	at := failpoints.MustPoint("rpc:shim:Task.Delete:entry")
	wider := plan.Single(plan.Pass{Point: at, Nth: 1, Path: "delete"}, "crash", "task")
	for name, tt := range map[string]struct {
		result Result
		found  bool
		says   string
	}{
		"blind": {Result{ID: "m", Cases: 7}, false, "NOT FOUND m"},
		"plain": {Result{ID: "m", Plain: true}, true, "without a fault"},
		"finding": {Result{ID: "m", Cases: 7, New: []triage.Cluster{{Name: "shim-x", Cases: 3}}}, true,
			"by 7 cases: shim-x (3)"},
		"window": {Result{ID: "m", Wider: &wider}, true, "where it is not: rpc:shim:Task.Delete:entry crash"},
	} {
		t.Run(name, func(t *testing.T) {
			text := strings.Join(strings.Fields(tt.result.String()), " ")
			if tt.result.Found() != tt.found || !strings.Contains(text, tt.says) {
				t.Errorf("found %v, says %q; want %v and %q", tt.result.Found(), text, tt.found, tt.says)
			}
		})
	}
}

func TestUnlike(t *testing.T) {
	shim := triage.Signature{Invariant: oracle.Leak, Class: oracle.ClassShim}
	bundle := triage.Signature{Invariant: oracle.Leak, Class: oracle.ClassBundle}
	cluster := func(name string, left ...triage.Signature) triage.Cluster {
		return triage.Cluster{Name: name, Left: left}
	}
	for name, tt := range map[string]struct {
		some, others []triage.Cluster
		want         int
	}{
		"nothing":              {nil, []triage.Cluster{cluster("a", shim)}, 0},
		"the same elsewhere":   {[]triage.Cluster{cluster("a", shim)}, []triage.Cluster{cluster("b", shim)}, 0},
		"more than the others": {[]triage.Cluster{cluster("a", shim, bundle)}, []triage.Cluster{cluster("a", shim)}, 1},
		"something else": {
			[]triage.Cluster{cluster("a", shim), cluster("b", bundle)}, []triage.Cluster{cluster("a", shim)}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			if got := unlike(tt.some, tt.others); len(got) != tt.want {
				t.Errorf("got %v, want %d", got, tt.want)
			}
		})
	}
}
