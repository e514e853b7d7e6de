package sweep

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/shimquake/shimquake/failpoints"
	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/must"
	"github.com/shimquake/shimquake/sweep/engine"
	"github.com/shimquake/shimquake/sweep/journal"
	"github.com/shimquake/shimquake/sweep/plan"
	"github.com/shimquake/shimquake/sweep/triage"
)

// faultsAt returns a crash at each of these points, in a workload.
func faultsAt(workload string, points ...string) plan.Spec {
	s := plan.Spec{Workload: workload}
	for _, p := range points {
		at := failpoints.MustPoint("rpc:shim:Task." + p + ":entry")
		s.Faults = append(s.Faults, plan.Fault{Point: at, Nth: 1, Action: "crash", Path: "delete"})
	}
	return s
}

// leaksAt returns a fake that leaks a shim if the plan has all of these words.
func leaksAt(words ...string) *fake {
	return &fake{verdict: func(c harness.Case, _ int) harness.Verdict {
		for _, w := range words {
			if !strings.Contains(c.Plan.String(), w) {
				return harness.Verdict{Case: c, Outcome: harness.Held}
			}
		}
		return harness.Verdict{Case: c, Outcome: harness.Violated, Findings: leakedShim()}
	}}
}

func TestMinimiseLeavesWhatIsNeeded(t *testing.T) {
	c := must.Get(faultsAt("task", "Create", "Start", "Kill", "Delete").Case(""))(t)
	for _, needed := range [][]string{{"Delete"}, {"Create"}, {"Create", "Delete"}, {"Start", "Kill", "Delete"}} {
		e := leaksAt(needed...)
		got := must.Get(minimise(c, func(c harness.Case) (bool, error) {
			return e.Run(t.Context(), c).Outcome == harness.Violated, nil
		}))(t)
		must.Len(t, got.Plan, len(needed), needed)
		must.Equal(t, e.verdict(got, 1).Outcome, harness.Violated, needed)
	}
	must.Equal(t, len(c.Plan), 4, "the case itself was changed", c.Plan)
	broken := errors.New("broken")
	must.Is(t, must.ErrorOf(minimise(c, func(harness.Case) (bool, error) { return false, broken })), broken)
}

func TestSimplifyTakesTheSmallestWorkload(t *testing.T) {
	c := must.Get(faultsAt("restart-pod", "Delete").Case(""))(t)
	for name, shows := range map[string]func(harness.Case) bool{
		"task with 1":  func(harness.Case) bool { return true },
		"cri with 1":   func(c harness.Case) bool { return c.Workload.API == harness.CRI },
		"the same two": func(c harness.Case) bool { return len(c.Workload.Containers) == 2 },
	} {
		got, err := simplify(c, func(c harness.Case) (bool, error) { return shows(c), nil })
		cri, one := got.Workload.API == harness.CRI, len(got.Workload.Containers) == 1
		if err != nil || cri != (name != "task with 1") || one != (name != "the same two") {
			t.Errorf("%s: %+v, %v", name, got.Workload, err)
		}
	}
}

// The simplest case of a cluster is written, and one folder of evidence stays.
func TestAClusterIsShown(t *testing.T) {
	p := plan.Plan{Version: "v2.4.2", Specs: []plan.Spec{
		faultsAt("restart", "Create", "Delete"), faultsAt("grouped", "Start", "Delete", "Kill"),
	}}.WithDigest()
	results := []journal.Result{
		{I: 0, Outcome: harness.Violated, Found: leakedShim()}, {I: 1, Outcome: harness.Violated, Found: leakedShim()},
	}
	rep := triage.NewReport(journal.Head{Plan: p}, results, nil)
	if len(rep.New) != 1 {
		t.Fatalf("one cluster is wanted:\n%s", rep)
	}
	e, kept, out := leaksAt("Delete"), t.TempDir(), t.TempDir()
	leaks := e.verdict
	e.verdict = func(c harness.Case, run int) harness.Verdict {
		v := leaks(c, run)
		v.Evidence = filepath.Join(kept, fmt.Sprintf("%s-%p", c.Name, &v))
		if err := os.Mkdir(v.Evidence, 0o755); err != nil {
			t.Error(err)
		}
		if c.Name == rep.New[0].Name && run == 2 {
			v.Outcome = harness.Held
		}
		return v
	}
	m := &Minimiser{Engine: engine.New(e, 2), Out: out, Replays: 5}
	must.Succeed(t, m.ShowAll(t.Context(), p, &rep))
	shown := rep.New[0].Shown
	text, err := os.ReadFile(shown.File)
	if err != nil || shown.Replays != 5 || shown.Same != 4 {
		t.Fatalf("%+v, %v", shown, err)
	}
	c, err := harness.ParseCase(shown.File, text)
	if err != nil || len(c.Plan) != 1 || c.Workload.Restarts() || len(c.Workload.Containers) != 1 {
		t.Errorf("%s%v", text, err)
	}
	rest := must.Get(os.ReadDir(kept))(t)
	must.Len(t, rest, 0, "folders are left")
	must.Equal(t, shown.Evidence, filepath.Join(out, "findings", rep.New[0].Name), "folders are left")
	must.Get(os.Stat(shown.Evidence))(t)
}

// If its simplest case does not show a cluster again, the next one that does is its case.
// If none does, the report has all of the replays.
func TestAClusterIsReplayedByMoreThanItsSimplestCase(t *testing.T) {
	p := plan.Plan{Version: "v2.4.2", Specs: []plan.Spec{
		faultsAt("task", "Delete"), faultsAt("cri", "Kill"), faultsAt("cri", "Start"), faultsAt("cri", "Wait"),
	}}.WithDigest()
	var results []journal.Result
	for i := range 3 {
		results = append(results, journal.Result{I: i, Outcome: harness.Violated, Found: leakedShim()})
	}
	for word, want := range map[string]triage.Shown{
		"Kill": {Replays: 20, Same: 20}, "nothing": {Replays: 60, Same: 0},
	} {
		rep := triage.NewReport(journal.Head{Plan: p}, results, nil)
		m := &Minimiser{Engine: engine.New(leaksAt(word), 1), Out: t.TempDir(), Replays: 20}
		must.Succeed(t, m.ShowAll(t.Context(), p, &rep))
		got := rep.New[0].Shown
		if got.Replays != want.Replays || got.Same != want.Same || rep.New[0].Reproduced() != (want.Same > 0) {
			t.Errorf("%s: %+v, want %+v", word, got, want)
		}
		if text, err := os.ReadFile(got.File); err != nil || (want.Same > 0) != strings.Contains(string(text), "Task.Kill") {
			t.Errorf("%s: %s%v", word, text, err)
		}
	}
}

// For the exit status alone, the first replay that shows the cluster is enough. If none
// does, all of them run.
func TestOneReplayThatShowsItIsEnough(t *testing.T) {
	p := plan.Plan{Version: "v2.4.2", Specs: []plan.Spec{faultsAt("task", "Delete")}}.WithDigest()
	results := []journal.Result{{I: 0, Outcome: harness.Violated, Found: leakedShim()}}
	for word, want := range map[string]triage.Shown{"Delete": {Replays: 1, Same: 1}, "nothing": {Replays: 20, Same: 0}} {
		rep := triage.NewReport(journal.Head{Plan: p}, results, nil)
		m := &Minimiser{Engine: engine.New(leaksAt(word), 1), Out: t.TempDir(), Replays: 20, Once: true}
		must.Succeed(t, m.ShowAll(t.Context(), p, &rep))
		if got := rep.New[0].Shown; got.Replays != want.Replays || got.Same != want.Same || rep.Status() != want.Same {
			t.Errorf("%s: %+v, want %+v; status %d", word, got, want, rep.Status())
		}
	}
}
