package random

import (
	"context"
	"errors"
	"fmt"
	"os"
	"reflect"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/shimquake/shimquake/catalogue"
	"github.com/shimquake/shimquake/failpoints"
	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/harness/runner"
	"github.com/shimquake/shimquake/must"
	"github.com/shimquake/shimquake/oracle/affected"
	"github.com/shimquake/shimquake/oracle/finding"
	"github.com/shimquake/shimquake/sweep"
	"github.com/shimquake/shimquake/sweep/engine"
	"github.com/shimquake/shimquake/sweep/journal"
	"github.com/shimquake/shimquake/sweep/plan"
	"github.com/shimquake/shimquake/sweep/triage"
)

// basePlan has crash and error at twelve methods in two workloads.
func basePlan(t *testing.T) plan.Plan {
	t.Helper()
	p := plan.Plan{Version: "v2.4.2", Options: "--test"}
	add := func(method, at, action, path, workload string) *plan.Spec {
		pass := plan.Hit{Point: failpoints.MustPoint("rpc:shim:Task." + method + ":" + at), Nth: 1, Path: path}
		p.Specs = append(p.Specs, plan.Single(pass, action, workload))
		return &p.Specs[len(p.Specs)-1]
	}
	for _, w := range []string{"task", "grouped"} {
		for _, a := range []string{"crash", "error(x)"} {
			for i, m := range []string{"Create", "Start", "Wait", "Delete", "Shutdown", "State"} {
				add(m, "entry", a, plan.Paths[i%3], w)
				add(m, "exit", a, plan.Paths[i%3], w)
			}
		}
	}
	add("Kill", "entry", "crash", "delete", "task").Unsteady = true
	return p.WithDigest()
}

// fake returns verdicts without running cases. Real cases run in
// TestRandomPlansOnTheNewestRelease.
type fake func(harness.Case) harness.Verdict

func (e fake) Run(_ context.Context, c harness.Case) harness.Verdict {
	v := e(c)
	v.Case = c
	return v
}

func (fake) Trace(context.Context, harness.Case) (harness.Trace, error) {
	return harness.Trace{}, errors.New("not traced here")
}

// leaks returns a verdict with a leaked shim if the plan has all of these words. It is
// invalid if the plan has the word invalid, and held otherwise.
func leaks(invalid string, words ...string) *engine.Engine {
	return faked(func(c harness.Case) harness.Verdict {
		text := c.Plan.String()
		if invalid != "" && strings.Contains(text, invalid) {
			return harness.Verdict{
				Outcome:  harness.Invalid,
				Firings:  []harness.Firing{{Proof: "not reached"}},
				Problems: []harness.Problem{{Kind: harness.ByMiss, Text: "these faults did not fire: " + invalid}},
			}
		}
		if slices.ContainsFunc(words, func(w string) bool { return !strings.Contains(text, w) }) {
			return harness.Verdict{Outcome: harness.Held}
		}
		shim := finding.Finding{Invariant: finding.Leak, Class: finding.ClassShim,
			Subject: finding.Subject{PID: 7, ID: "c0"}}
		return harness.Verdict{Outcome: harness.Violated, Findings: []finding.Finding{shim}}
	})
}

// faked returns an engine whose runs return the verdicts of a function.
func faked(f func(harness.Case) harness.Verdict) *engine.Engine { return engine.New(fake(f), 3) }

// swept runs n random cases, and returns the head with the drawn plan and the results.
func swept(t *testing.T, e *engine.Engine, base plan.Plan, seed uint64, n int) (journal.Head, []journal.Result) {
	t.Helper()
	draw := must.Get(New(base))(t)
	base.Specs = nil
	h := journal.Head{Plan: base.WithDigest(), Random: true, Shard: plan.Shard{I: 1, Of: 1}}
	dir := t.TempDir()
	j := must.Get(journal.Create(dir, h))(t)
	s := sweep.Schedule{Engine: e, Head: h, Journal: j, Draw: func(yield func(plan.Spec) bool) {
		for i := 0; i < n && yield(draw(seed+uint64(i))); i++ {
		}
	}}
	results, err := s.Run(t.Context())
	if err = errors.Join(err, j.Close()); err != nil {
		t.Fatal(err)
	}
	h, kept, err := journal.Read(dir)
	if err != nil || len(kept) != n || !reflect.DeepEqual(h.Plan.Specs, s.Head.Plan.Specs) {
		t.Errorf("%d results, %d cases: %v", len(kept), len(h.Plan.Specs), err)
	}
	return h, results
}

// reported returns the report of 60 random cases.
func reported(t *testing.T, e *engine.Engine, replays int, known ...catalogue.Excuse) triage.Report {
	t.Helper()
	h, results := swept(t, e, basePlan(t), 1, 60)
	rep := triage.NewReport(h, results, known)
	m := &sweep.Minimiser{Engine: e, Out: t.TempDir(), Replays: replays}
	must.Succeed(t, m.ShowAll(t.Context(), h.Plan, &rep))
	return rep
}

func TestASeedIsACase(t *testing.T) {
	draw := must.Get(New(basePlan(t)))(t)
	again := must.Get(New(basePlan(t)))(t)
	seen := map[string]bool{}
	for seed := uint64(40); seed < 100; seed++ {
		s := draw(seed)
		if strings.Contains(s.String(), "Kill") || len(s.Faults) > maxFaults || s.Key() != again(seed).Key() {
			t.Errorf("seed %d: %s, %s", seed, s, again(seed))
		}
		seen[s.Key()] = true
	}
	if len(seen) < 55 {
		t.Errorf("only %d different cases of 60", len(seen))
	}
}

// The cases have every number of faults, every workload and every action.
func TestDrawsReachEverything(t *testing.T) {
	draw := must.Get(New(basePlan(t)))(t)
	seen := map[string]bool{}
	for seed := range uint64(200) {
		s := draw(seed + 1)
		seen[fmt.Sprint(len(s.Faults))] = true
		seen[s.Workload] = true
		for _, f := range s.Faults {
			seen[f.Word()], seen[f.Path], seen[f.Point.String()] = true, true, true
		}
	}
	for _, want := range []string{"1", "2", "3", "4", "task", "grouped", "script", "kill", "crash", "error",
		"create", "start", "exit"} {
		if !seen[want] {
			t.Errorf("%s was never drawn", want)
		}
	}
	must.Equal(t, len(seen), 13+12+2, "not each of the 12 points and 2 kills was drawn", seen)
}

func TestNewFindingsAreMinimised(t *testing.T) {
	rep := reported(t, leaks("", "Task.Delete:entry", "1*crash"), 3)
	if len(rep.New) != 1 || rep.Executed != 60 || rep.New[0].Cases < 3 || rep.Violated != rep.New[0].Cases {
		t.Fatalf("all that leak are one cluster:\n%s", rep)
	}
	s := rep.New[0].Shown
	text := must.Get(os.ReadFile(s.File))(t)
	c, err := harness.ParseCase(s.File, text)
	if err != nil || len(c.Plan) > 2 || c.Workload.Grouped || s.Same != 3 {
		t.Errorf("one or two faults of task are wanted: %v\n%s", err, text)
	}
}

func TestKnownFindingsAreNotMinimised(t *testing.T) {
	known := catalogue.Excuse{ID: "x", Releases: affected.Releases{"2.0": {Bad: "v2.0.0"}},
		Window: catalogue.Window{Match: finding.MustMatches("shim"), Where: []string{"* *"}}}
	if rep := reported(t, leaks("", "Task.Delete"), 3, known); len(rep.New) != 0 || rep.Known[0].Cases < 5 ||
		rep.Status() != 0 {
		t.Errorf("%s", rep)
	}
}

// A fault that is not reached is normal, and its case runs once.
func TestCasesThatWereNotReachedShowNothing(t *testing.T) {
	var ran atomic.Int64
	e := leaks("Task.Start", "nothing")
	rep := reported(t, faked(func(c harness.Case) harness.Verdict {
		ran.Add(1)
		return e.Run(t.Context(), c)
	}), 3)
	if rep.Fired < 5 || rep.Fired > 55 || rep.Held != rep.Fired || rep.Status() != 0 || ran.Load() != 60 {
		t.Errorf("%d runs, status %d:\n%s", ran.Load(), rep.Status(), rep)
	}
}

// A violation that is not reproduced is reported as such.
func TestAViolationThatDoesNotComeAgainIsKept(t *testing.T) {
	var n atomic.Int64
	rep := reported(t, faked(func(c harness.Case) harness.Verdict {
		if n.Add(1) == 5 {
			return leaks("").Run(t.Context(), c)
		}
		return harness.Verdict{Outcome: harness.Held}
	}), 4)
	if len(rep.New) != 1 || rep.Violated != 1 || rep.New[0].Shown.Same != 0 || rep.Status() != 1 {
		t.Errorf("%s", rep)
	}
}

// A sweep that draws without an end is interrupted, and its journal can be continued.
func TestDrawsAreInterrupted(t *testing.T) {
	draw := must.Get(New(basePlan(t)))(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	h, dir := journal.Head{Plan: basePlan(t), Random: true}, t.TempDir()
	j := must.Get(journal.Create(dir, h))(t)
	n := 0
	s := sweep.Schedule{Engine: leaks("", "none"), Head: h, Journal: j, Draw: func(yield func(plan.Spec) bool) {
		for seed := uint64(1); yield(draw(seed)); seed++ {
		}
	}, OnResult: func(journal.Result) {
		if n++; n == len(h.Plan.Specs)+10 {
			cancel()
		}
	}}
	results, err := s.Run(ctx)
	if !errors.Is(err, engine.ErrInterrupted) || len(results) < n {
		t.Errorf("%d results, %v", len(results), err)
	}
	must.Succeed(t, j.Close())
	j, h, done, err := journal.Resume(dir)
	if err != nil || len(done) != len(results) || len(h.Plan.Specs) != len(s.Head.Plan.Specs) {
		t.Fatalf("%d results, %d cases: %v", len(done), len(h.Plan.Specs), err)
	}
	s = sweep.Schedule{Engine: leaks("", "none"), Head: h, Journal: j, Done: done}
	results, err = s.Run(t.Context())
	if err = errors.Join(err, j.Close()); err != nil || len(results) != len(h.Plan.Specs) {
		t.Errorf("%d results of %d: %v", len(results), len(h.Plan.Specs), err)
	}
}

func TestNothingToDrawFrom(t *testing.T) {
	if _, err := New(plan.Plan{}); !errors.As(err, new(*plan.EmptyError)) {
		t.Error(err)
	}
}

// hasty is a runner that waits only one second for leftovers to vanish, and not six.
type hasty struct{ *runner.Runner }

func (h hasty) Run(ctx context.Context, c harness.Case) harness.Verdict {
	c.Workload.Settle = time.Second
	return h.Runner.Run(ctx, c)
}

// A few real plans of several faults run on the newest release.
func TestRandomPlansOnTheNewestRelease(t *testing.T) {
	cases, plans := &runner.Runner{Residues: catalogue.Residues(), Evidence: t.TempDir() + "/evidence", Brief: true}, 16
	if err := cases.Prepare(t.Context(), ""); runner.IsUnsupported(err) {
		t.Skip(err)
	} else if err != nil {
		t.Fatal(err)
	}
	if testing.Short() {
		plans = 4
	}
	base := must.Get(plan.Make(t.Context(), engine.New(cases, 4), plan.Options{
		Workloads: []string{"task"}, Actions: []string{"error", "cancel"}, Hits: "path",
		Paths: []string{"start", "exit", "delete"},
	}))(t)
	e := engine.New(hasty{cases}, 4)
	h, results := swept(t, e, base, 2026, plans)
	rep := triage.NewReport(h, results, catalogue.Excuses())
	t.Log(rep)
	if rep.Executed != plans || rep.Fired == 0 {
		t.Errorf("%d cases ran, %d fired", rep.Executed, rep.Fired)
	}
}
