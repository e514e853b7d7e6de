package sweep

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/shimquake/shimquake/catalogue"
	"github.com/shimquake/shimquake/harness"
)

// basePlan has crash and error at twelve methods in two workloads.
func basePlan(t *testing.T) Plan {
	t.Helper()
	p := Plan{Version: "v2.4.2", Options: "--test"}
	for _, w := range []string{"task", "grouped"} {
		for _, a := range []string{"crash", "error(x)"} {
			for i, m := range []string{"Create", "Start", "Wait", "Delete", "Shutdown", "State"} {
				for _, at := range []string{"entry", "exit"} {
					p.Specs = append(p.Specs, Spec{Point: "rpc:shim:Task." + m + ":" + at, Nth: 1, Action: a, Path: Paths[i%3], Workload: w})
				}
			}
		}
	}
	p.Specs = append(p.Specs, Spec{Point: "rpc:shim:Task.Kill:entry", Nth: 1, Action: "crash", Path: "delete", Workload: "task", Unsteady: true})
	p.Digest = p.digest()
	return p
}

// leaks is a verdict with a leaked shim where the plan has all of these words, invalid where it has the word invalid, and held otherwise.
func leaks(invalid string, words ...string) func(harness.Case, int) harness.Verdict {
	return func(c harness.Case, _ int) harness.Verdict {
		plan := c.Plan.String()
		if invalid != "" && strings.Contains(plan, invalid) {
			return harness.Verdict{Outcome: harness.Invalid, Problems: []harness.Problem{{Kind: harness.ByMiss, Text: "these faults did not fire: " + invalid}}}
		}
		if slices.ContainsFunc(words, func(w string) bool { return !strings.Contains(plan, w) }) {
			return harness.Verdict{Outcome: harness.Held}
		}
		return harness.Verdict{Outcome: harness.Violated, Findings: shimLeft(7, "c0")}
	}
}

func randomRun(t *testing.T, r *Random) (RandomRun, []Draw) {
	t.Helper()
	var draws []Draw
	r.Parallel, r.OnDraw = 3, func(d Draw) error { draws = append(draws, d); return nil }
	run, err := r.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	slices.SortFunc(draws, func(a, b Draw) int { return int(a.Seed) - int(b.Seed) })
	return run, draws
}

func TestASeedIsAPlan(t *testing.T) {
	plans := func() (texts []string) {
		_, draws := randomRun(t, &Random{Engine: &engine{verdict: allHeld}, Base: basePlan(t), Seed: 40, Plans: 60})
		for _, d := range draws {
			if strings.Contains(d.Spec.String(), "Kill") {
				t.Errorf("drawn from a point that not every trace has: %s", d.Spec)
			}
			texts = append(texts, fmt.Sprint(d.Seed, d.Spec))
		}
		return texts
	}
	a, b := plans(), plans()
	if len(a) != 60 || !slices.Equal(a, b) {
		t.Errorf("%d and %d plans, which must be the same", len(a), len(b))
	}
	slices.Sort(a)
	if n := len(slices.Compact(a)); n < 55 {
		t.Errorf("only %d different plans of 60", n)
	}
}

func TestRapidShrinksWhatIsNewOnce(t *testing.T) {
	run, draws := randomRun(t, &Random{Engine: &engine{verdict: leaks("", "Task.Delete:entry", "1*crash")}, Base: basePlan(t), Seed: 1, Plans: 120, Shrink: time.Second})
	if len(run.Shrunk) != 1 || run.Drawn != 120 || len(draws) != 121 {
		t.Fatalf("%d plans and %d shrunk ones, want 120 and 1", run.Drawn, len(run.Shrunk))
	}
	for i, d := range run.Shrunk {
		s := run.Head.Plan.Specs[i]
		if n := len(s.deeds()); n > 2 || s.Workload != "task" || !run.Results[i].shows([]Signature{signatureOf(shimLeft(1, "c0")[0])}, false) {
			t.Errorf("seed %d shrinks to %s, want one or two faults of task", d.Seed, s)
		}
	}
	rep := NewReport(run.Head, run.Results, nil)
	if len(rep.New) != 1 || rep.New[0].Cases < 3 || rep.Violated != rep.New[0].Cases {
		t.Errorf("all that leak are one finding:\n%s", rep)
	}
}

func TestWhatIsKnownIsNotShrunk(t *testing.T) {
	known := catalogue.Findings()
	f, err := catalogue.ParseFinding("x", []byte("id: x\nabout: y\nreleases: \">= 2.0.0\"\nsometimes: true\nmatch: [{class: shim}]\n"))
	if err != nil {
		t.Fatal(err)
	}
	run, _ := randomRun(t, &Random{Engine: &engine{verdict: leaks("", "Task.Delete")}, Base: basePlan(t), Seed: 1, Plans: 60, Known: append(known, f)})
	rep := NewReport(run.Head, run.Results, []catalogue.Finding{f})
	if len(run.Shrunk) != 0 || len(rep.New) != 0 || rep.Known[0].Cases < 5 {
		t.Errorf("%d shrunk:\n%s", len(run.Shrunk), rep)
	}
}

func TestPlansThatWereNotReachedShowNothing(t *testing.T) {
	run, _ := randomRun(t, &Random{Engine: &engine{verdict: leaks("Task.Start", "nothing")}, Base: basePlan(t), Seed: 1, Plans: 40})
	rep := RandomReport{Report: NewReport(run.Head, run.Results, nil), Drawn: run.Drawn, Missed: run.Missed}
	if run.Missed < 5 || rep.Held+rep.Violated+run.Missed != 40 || rep.Fired != 40-run.Missed {
		t.Errorf("%d missed:\n%s", run.Missed, rep)
	}
	if want := fmt.Sprintf("%d of 40 plans had a fault that was not reached", run.Missed); !strings.Contains(rep.String(), want) {
		t.Errorf("%q is not told:\n%s", want, rep)
	}
}

// A violation that does not come again is told as what it is.
func TestAViolationThatDoesNotComeAgainIsKept(t *testing.T) {
	n := 0
	e := &engine{}
	e.verdict = func(c harness.Case, run int) harness.Verdict {
		if n++; n == 5 {
			return leaks("")(c, run)
		}
		return harness.Verdict{Outcome: harness.Held}
	}
	run, _ := randomRun(t, &Random{Engine: e, Base: basePlan(t), Seed: 1, Plans: 20, Shrink: time.Second})
	if rep := NewReport(run.Head, run.Results, nil); len(rep.New) != 1 || len(run.Shrunk) != 1 || rep.Violated != 2 {
		t.Errorf("%d shrunk:\n%s", len(run.Shrunk), rep)
	}
}

func TestRandomPlansNeedASeedAndAnEnd(t *testing.T) {
	for name, r := range map[string]*Random{"no seed": {Plans: 1, Base: basePlan(t)}, "no end": {Seed: 1, Base: basePlan(t)}, "no points": {Seed: 1, Plans: 1}} {
		if _, err := r.Run(t.Context()); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

// For real: a few plans of several faults on the newest release. A shim must never be left that the catalogue does not know.
func TestRandomPlansOnTheNewestRelease(t *testing.T) {
	r, plans := prepared(t, ""), 40
	if testing.Short() {
		plans = 4
	}
	base, err := Make(t.Context(), r, Options{Workloads: []string{"task"}, Actions: []string{"error", "cancel"}, Hits: "path", Paths: []string{"start", "exit", "delete"}})
	if err != nil {
		t.Fatal(err)
	}
	run, _ := randomRun(t, &Random{Engine: hasty{r}, Base: base, Seed: 2026, Plans: plans, Shrink: time.Second, Known: catalogue.Findings()})
	rep, err := run.Report(t.Context(), Minimiser{Engine: hasty{r}, Out: t.TempDir(), Parallel: 1}, catalogue.Findings(), "plan.json")
	if err != nil {
		t.Fatal(err)
	}
	t.Log(rep)
	if rep.Drawn != plans || rep.Fired == 0 {
		t.Errorf("%d plans drawn, %d fired", rep.Drawn, rep.Fired)
	}
	for _, s := range rep.Shrunk {
		text, err := os.ReadFile(s.File)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := harness.ParseCase(filepath.Base(s.File), text); err != nil {
			t.Errorf("%s cannot be replayed: %v", s.File, err)
		}
		if strings.HasPrefix(s.Left, "leak shim") {
			t.Errorf("seed %d leaks a shim:\n%s", s.Seed, text)
		}
	}
}
