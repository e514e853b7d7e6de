package random

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/shimquake/shimquake/catalogue"
	"github.com/shimquake/shimquake/failpoints"
	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/harness/runner"
	"github.com/shimquake/shimquake/oracle/affected"
	"github.com/shimquake/shimquake/oracle/finding"
	"github.com/shimquake/shimquake/sweep"
	"github.com/shimquake/shimquake/sweep/engine"
	"github.com/shimquake/shimquake/sweep/plan"
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

// drawn runs random plans.
func drawn(t *testing.T, r *Random) []Draw {
	t.Helper()
	reports := 0
	r.OnDraw = func(Draw) error { reports++; return nil }
	draws, err := r.Run(t.Context())
	if err != nil || reports != len(draws) {
		t.Fatalf("%d draws, %d reported: %v", len(draws), reports, err)
	}
	return draws
}

// reported returns the report of draws.
func reported(t *testing.T, r *Random, draws []Draw, replays int, known ...catalogue.Excuse) Report {
	t.Helper()
	m := sweep.Minimiser{Engine: r.Engine, Out: t.TempDir(), Replays: replays}
	rep, err := NewReport(t.Context(), draws, r.Base, "plan.json", m, known)
	if err != nil {
		t.Fatal(err)
	}
	return rep
}

func TestASeedIsAPlan(t *testing.T) {
	plans := func() (texts []string) {
		for i, d := range drawn(t, &Random{Engine: leaks("", "none"), Base: basePlan(t), Seed: 40, Plans: 60}) {
			if strings.Contains(d.Spec.String(), "Kill") || len(d.Spec.Faults) > maxFaults || d.Seed != uint64(40+i) {
				t.Errorf("the %d-th plan, of seed %d: %s", i, d.Seed, d.Spec)
			}
			texts = append(texts, d.Spec.Key())
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

// The plans have every number of faults, every workload and every action.
func TestDrawsReachEverything(t *testing.T) {
	seen := map[string]bool{}
	for _, d := range drawn(t, &Random{Engine: leaks("", "none"), Base: basePlan(t), Seed: 1, Plans: 200}) {
		seen[fmt.Sprint(len(d.Spec.Faults))] = true
		seen[d.Spec.Workload] = true
		for _, f := range d.Spec.Faults {
			seen[f.Word()], seen[f.Path], seen[f.Point.String()] = true, true, true
		}
	}
	for _, want := range []string{"1", "2", "3", "4", "task", "grouped", "script", "kill", "crash", "error",
		"create", "start", "exit"} {
		if !seen[want] {
			t.Errorf("%s was never drawn", want)
		}
	}
	if len(seen) != 13+12+2 {
		t.Errorf("not each of the 12 points and 2 kills was drawn: %v", seen)
	}
}

func TestNewFindingsAreMinimised(t *testing.T) {
	r := &Random{Engine: leaks("", "Task.Delete:entry", "1*crash"), Base: basePlan(t), Seed: 1, Plans: 120}
	draws := drawn(t, r)
	rep := reported(t, r, draws, 3)
	if len(rep.New) != 1 || rep.Drawn != 120 || rep.New[0].Cases < 3 ||
		rep.Violated != rep.New[0].Cases {
		t.Fatalf("all that leak are one cluster:\n%s", rep)
	}
	s := rep.New[0].Shown
	text, err := os.ReadFile(s.File)
	if err != nil {
		t.Fatal(err)
	}
	c, err := harness.ParseCase(s.File, text)
	if err != nil || len(c.Plan) > 2 || c.Workload.Grouped || s.Same != 3 ||
		!strings.HasSuffix(c.About, s.Origin) {
		t.Errorf("one or two faults of task are wanted: %v\n%s", err, text)
	}
	from := slices.IndexFunc(draws, func(d Draw) bool {
		return strings.HasSuffix(s.Origin, fmt.Sprintf("seed %d.", d.Seed))
	})
	if from < 0 || !strings.Contains(draws[from].Spec.String(), "Task.Delete:entry") {
		t.Errorf("%q is another plan", s.Origin)
	}
}

func TestKnownFindingsAreNotMinimised(t *testing.T) {
	known := catalogue.Excuse{ID: "x", Releases: affected.Releases{"2.0": {Bad: "v2.0.0"}},
		Window: catalogue.Window{Match: finding.MustMatches("shim"), Where: []string{"* *"}}}
	r := &Random{Engine: leaks("", "Task.Delete"), Base: basePlan(t), Seed: 1, Plans: 60}
	rep := reported(t, r, drawn(t, r), 3, known)
	if len(rep.New) != 0 || rep.Known[0].Cases < 5 || rep.Status() != 0 {
		t.Errorf("%s", rep)
	}
}

func TestPlansThatWereNotReachedShowNothing(t *testing.T) {
	r := &Random{Engine: leaks("Task.Start", "nothing"), Base: basePlan(t), Seed: 1, Plans: 40}
	rep := reported(t, r, drawn(t, r), 3)
	if rep.NotReached < 5 || rep.Held+rep.Violated+rep.NotReached != 40 || rep.Fired != 40-rep.NotReached {
		t.Errorf("%d missed:\n%s", rep.NotReached, rep)
	}
	want := fmt.Sprintf("%d of 40 plans had a fault that was not reached", rep.NotReached)
	if !strings.Contains(rep.String(), want) {
		t.Errorf("%q is not reported:\n%s", want, rep)
	}
}

// A violation that is not reproduced is reported as such.
func TestAViolationThatDoesNotComeAgainIsKept(t *testing.T) {
	var n atomic.Int64
	r := &Random{Base: basePlan(t), Seed: 1, Plans: 20, Engine: faked(func(c harness.Case) harness.Verdict {
		if n.Add(1) == 5 {
			return leaks("").Run(t.Context(), c)
		}
		return harness.Verdict{Outcome: harness.Held}
	})}
	rep := reported(t, r, drawn(t, r), 4)
	if len(rep.New) != 1 || rep.Violated != 1 || rep.New[0].Shown.Same != 0 || rep.Status() != 1 {
		t.Errorf("%s", rep)
	}
}

func TestRandomPlansNeedASeedAndAnEnd(t *testing.T) {
	for name, r := range map[string]*Random{
		"no seed": {Plans: 1, Base: basePlan(t)}, "no end": {Seed: 1, Base: basePlan(t)}, "no points": {Seed: 1, Plans: 1},
	} {
		if _, err := r.Run(t.Context()); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func TestRandomPlansEnd(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	r := &Random{Engine: leaks("", "none"), Base: basePlan(t), Seed: 1, For: time.Hour, OnDraw: func(d Draw) error {
		if d.Seed == 10 {
			cancel()
		}
		return nil
	}}
	if draws, err := r.Run(ctx); !errors.Is(err, engine.ErrInterrupted) || len(draws) < 9 {
		t.Errorf("%d draws, %v", len(draws), err)
	}
	r.Engine = faked(func(harness.Case) harness.Verdict {
		return harness.Verdict{
			Outcome:  harness.Invalid,
			Problems: []harness.Problem{{Kind: harness.ByMachine, Text: "not root"}},
		}
	})
	if _, err := r.Run(t.Context()); err == nil || !strings.Contains(err.Error(), "not root") {
		t.Errorf("a machine that cannot: %v", err)
	}
}

// hasty is a runner that waits only one second for leftovers to vanish, and not six.
type hasty struct{ *runner.Runner }

func (h hasty) Run(ctx context.Context, c harness.Case) harness.Verdict {
	c.Workload.Settle = time.Second
	return h.Runner.Run(ctx, c)
}

// A few real plans of several faults on the newest release. Every leaked shim must be
// known to the catalogue.
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
	base, err := plan.Make(t.Context(), engine.New(cases, 4), plan.Options{
		Workloads: []string{"task"}, Actions: []string{"error", "cancel"}, Hits: "path",
		Paths: []string{"start", "exit", "delete"},
	})
	if err != nil {
		t.Fatal(err)
	}
	r := &Random{Engine: engine.New(hasty{cases}, 4), Base: base, Seed: 2026, Plans: plans}
	rep := reported(t, r, drawn(t, r), 1, catalogue.Excuses()...)
	t.Log(rep)
	if rep.Drawn != plans || rep.Fired == 0 {
		t.Errorf("%d plans drawn, %d fired", rep.Drawn, rep.Fired)
	}
	for _, c := range rep.New {
		text, err := os.ReadFile(c.Shown.File)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := harness.ParseCase(filepath.Base(c.Shown.File), text); err != nil {
			t.Errorf("%s cannot be replayed: %v", c.Shown.File, err)
		}
		// Within this one second, a clean-up may still be under way. A leak is one that the
		// replay shows again.
		if c.Left[0].Class == finding.ClassShim && c.Shown.Same > 0 {
			t.Errorf("a shim is left: %s\n%s", c.Shown.Origin, text)
		}
	}
}
