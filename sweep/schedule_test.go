package sweep

import (
	"context"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/shimquake/shimquake/failpoints"
	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/must"
	"github.com/shimquake/shimquake/oracle/finding"
	"github.com/shimquake/shimquake/sweep/compare"
	"github.com/shimquake/shimquake/sweep/engine"
	"github.com/shimquake/shimquake/sweep/journal"
	"github.com/shimquake/shimquake/sweep/plan"
)

// fake returns verdicts without running cases. These tests check the order of the
// cases, and which results are kept. Real cases run in real_test.go.
type fake struct {
	verdict func(c harness.Case, run int) harness.Verdict

	mu   sync.Mutex
	runs map[string]int
}

func (e *fake) Run(_ context.Context, c harness.Case) harness.Verdict {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.runs == nil {
		e.runs = map[string]int{}
	}
	e.runs[c.Name]++
	return e.verdict(c, e.runs[c.Name])
}

func (e *fake) Trace(context.Context, harness.Case) (harness.Trace, error) {
	return harness.Trace{}, errors.New("not traced here")
}

// whole is the shard that is the whole plan.
var whole = plan.Shard{I: 1, Of: 1}

// begun returns a journal of a plan with a crash at each of n points, in a folder.
func begun(t testing.TB, n int, shard plan.Shard) (string, *journal.Journal, journal.Head) {
	t.Helper()
	p := plan.Plan{Version: "v2.4.2", Subject: "abc"}
	for i := range n {
		at := failpoints.MustPoint("stmt:containerd:runtime.binary.Start:" + strings.Repeat("x", i+1))
		p.Specs = append(p.Specs, plan.Single(plan.Hit{Point: at, Nth: 1, Path: "create"}, "crash", "task"))
	}
	dir, h := t.TempDir(), journal.Head{Plan: p.WithDigest(), Shard: shard}
	j := must.Get(journal.Create(dir, h))(t)
	t.Cleanup(func() { _ = j.Close() }) // closed twice in some tests
	return dir, j, h
}

// only returns the number of runs of a plan's only case.
func only(h journal.Head, runs int) map[string]int {
	c, err := h.Plan.Specs[0].Case("")
	if err != nil {
		panic(err) // a bug of this test
	}
	return map[string]int{c.Name: runs}
}

// leakedShim returns the finding of a leaked shim.
func leakedShim() []finding.Finding {
	return []finding.Finding{{Invariant: finding.Leak, Class: finding.ClassShim,
		Subject: finding.Subject{PID: 1, ID: "c0"}}}
}

func allHeld(harness.Case, int) harness.Verdict { return harness.Verdict{Outcome: harness.Held} }

func TestScheduleRunsEachCaseOnce(t *testing.T) {
	dir, j, h := begun(t, 40, plan.Shard{I: 2, Of: 3})
	e := &fake{verdict: allHeld}
	results := must.Get((&Schedule{Engine: engine.New(e, 4), Head: h, Journal: j}).Run(t.Context()))(t)
	_, again, err := journal.Read(dir)
	if err != nil || len(again) != len(results) || len(results) != 13 || len(e.runs) != 13 {
		t.Errorf("%d results, %d in the journal, %d cases ran; want 13: %v", len(results), len(again), len(e.runs), err)
	}
}

// A comparison runs its cases on B, and cases without a run on A on both.
func TestACaseWithoutARunOnARunsOnBoth(t *testing.T) {
	_, j, h := begun(t, 3, whole)
	ran := map[string]int{}
	e := &fake{verdict: func(c harness.Case, _ int) harness.Verdict {
		ran[c.Containerd]++
		return harness.Verdict{Outcome: harness.Held}
	}}
	done := []journal.Result{{I: 0, Outcome: harness.Held}, {I: 1, Outcome: harness.Held, On: "a"}}
	h.Plan.Containerd, h.Other = "a", &journal.Other{Containerd: "b", Shared: 3}
	_, err := (&Schedule{Engine: engine.New(e, 1), Head: h, Journal: j, Done: done, On: "b", Cases: []int{0, 1, 2},
		Compare: &compare.Comparison{Plan: h.Plan, Shared: 3, A: "a", B: "b"}}).Run(t.Context())
	if want := map[string]int{"a": 1, "b": 3}; err != nil || !maps.Equal(ran, want) {
		t.Errorf("ran %v, want %v: %v", ran, want, err)
	}
}

func TestAnEndedSweepContinues(t *testing.T) {
	dir, j, h := begun(t, 30, whole)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	e := &fake{verdict: allHeld}
	n := 0
	results, err := (&Schedule{Engine: engine.New(e, 3), Head: h, Journal: j, OnResult: func(journal.Result) {
		if n++; n == 10 {
			cancel()
		}
	}}).Run(ctx)
	if !errors.Is(err, engine.ErrInterrupted) || len(results) < 10 || len(results) == 30 {
		t.Fatalf("%d results, %v", len(results), err)
	}
	must.Succeed(t, j.Close())
	j, h, done, err := journal.Resume(dir)
	must.Succeed(t, err)
	results, err = (&Schedule{Engine: engine.New(e, 3), Head: h, Journal: j, Done: done}).Run(t.Context())
	if err != nil || len(results) != 30 {
		t.Fatalf("%d results, %v", len(results), err)
	}
	for name, runs := range e.runs {
		if runs > 2 { // the interrupted ones ran again
			t.Errorf("%s ran %d times", name, runs)
		}
	}
	if _, all, err := journal.Read(dir); err != nil || len(all) != 30 {
		t.Errorf("the journal has %d results: %v", len(all), err)
	}
}

func TestACaseWhoseFaultDoesNotFireIsTriedAgain(t *testing.T) {
	const noBoot, ignored = "containerd does not boot", "no process checked the context"
	const stalled = "the machine stood still for 4.3s"
	for name, c := range map[string]struct {
		why     string
		missed  bool // the fault did not fire
		firesAt int  // the run in which it fires
		runs    int
		outcome harness.Outcome
	}{
		"fires at the second":          {"x", true, 2, 2, harness.Held},
		"never fires":                  {"x", true, 99, 8, harness.Invalid},
		"cannot boot":                  {noBoot, true, 99, 1, harness.Invalid},
		"unobserved":                   {ignored, true, 99, 1, harness.Invalid},
		"fired, and nobody could look": {"list tasks: deadline exceeded", false, 2, 1, harness.Invalid},
		"the machine stood still once": {stalled, false, 2, 2, harness.Held},
	} {
		_, j, h := begun(t, 1, whole)
		e := &fake{verdict: func(k harness.Case, run int) harness.Verdict {
			if run < c.firesAt {
				v := harness.Verdict{
					Outcome:  harness.Invalid,
					Problems: []harness.Problem{{Kind: harness.ByMiss, Text: c.why}},
					Firings:  []harness.Firing{{Count: 1}},
				}
				if c.why == stalled {
					v.Problems[0].Kind = harness.ByStall
				}
				if c.missed {
					v.Firings = []harness.Firing{{Proof: c.why}}
					if c.why == noBoot {
						v.Problems[0].Kind = harness.ByBoot
					}
					if c.why == ignored {
						v.Firings[0].Miss = harness.MissUnobserved
					}
				}
				return v
			}
			return allHeld(k, run)
		}}
		results, err := (&Schedule{Engine: engine.New(e, 1), Head: h, Journal: j}).Run(t.Context())
		if err != nil || len(results) != 1 || results[0].Outcome != c.outcome || !maps.Equal(e.runs, only(h, c.runs)) {
			t.Errorf("%s: %+v after %v runs, %v", name, results, e.runs, err)
		}
	}
}

func TestAnUnfitMachineEndsTheSweep(t *testing.T) {
	_, j, h := begun(t, 50, whole)
	e := &fake{verdict: func(harness.Case, int) harness.Verdict {
		return harness.Verdict{
			Outcome:  harness.Invalid,
			Problems: []harness.Problem{{Kind: harness.ByMachine, Text: "not root"}},
		}
	}}
	_, err := (&Schedule{Engine: engine.New(e, 2), Head: h, Journal: j}).Run(t.Context())
	if err == nil || errors.Is(err, engine.ErrInterrupted) || !strings.Contains(err.Error(), "not root") {
		t.Errorf("%v", err)
	}
}

func TestEvidenceOfTheFirstFewIsKept(t *testing.T) {
	_, j, h := begun(t, 12, whole)
	kept := t.TempDir()
	e := &fake{verdict: func(c harness.Case, _ int) harness.Verdict {
		dir := filepath.Join(kept, c.Name)
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Error(err)
		}
		return harness.Verdict{Outcome: harness.Violated, Findings: leakedShim(), Evidence: dir}
	}}
	results := must.Get((&Schedule{Engine: engine.New(e, 4), Head: h, Journal: j}).Run(t.Context()))(t)
	dirs, err := os.ReadDir(kept)
	named := 0
	for _, r := range results {
		if r.Evidence != "" {
			named++
		}
	}
	if err != nil || len(dirs) != keptOf || named != keptOf {
		t.Errorf("%d folders, %d named, want %d: %v", len(dirs), named, keptOf, err)
	}
}
