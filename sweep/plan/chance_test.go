package plan

import (
	"context"
	"errors"
	"testing"

	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/must"
	"github.com/shimquake/shimquake/oracle/finding"
	"github.com/shimquake/shimquake/sweep/engine"
)

// inTurn is a Runner that returns the given verdicts, one in each run.
type inTurn struct {
	verdicts []harness.Verdict
	runs     int
}

func (e *inTurn) Run(_ context.Context, c harness.Case) harness.Verdict {
	v := e.verdicts[min(e.runs, len(e.verdicts)-1)]
	e.runs++
	v.Case = c
	return v
}

func (e *inTurn) Trace(ctx context.Context, c harness.Case) (harness.Trace, error) {
	v := e.Run(ctx, c)
	if v.Outcome == harness.Invalid {
		return harness.Trace{Verdict: v}, errors.New("trace: nothing was proven")
	}
	return harness.Trace{Verdict: v}, nil
}

// task calls a function with a task of a runner.
func task(t *testing.T, r engine.Runner, work func(*engine.Task) error) error {
	t.Helper()
	return engine.Each(t.Context(), engine.New(r, 1), engine.Indexes(1),
		func(task *engine.Task, _ int) (int, error) { return 0, work(task) }, func(*engine.Task, int) error { return nil })
}

// held checks that the workload holds without a fault, and hitsOf traces it.
func held(t *testing.T, r engine.Runner, workload string) error {
	o := Options{Containerd: "v2.4.2"}
	return task(t, r, func(task *engine.Task) error { return CheckFaultless(task, o, workload) })
}

func hitsOf(t *testing.T, r engine.Runner, workload string) (hits []Hit, err error) {
	err = task(t, r, func(task *engine.Task) (err error) {
		hits, err = Trace(task, Options{Containerd: "v2.4.2"}, workload)
		return err
	})
	return hits, err
}

// A run without a fault may show a known race of a busy machine, and nothing else.
func TestWhatIsLostByChance(t *testing.T) {
	const late = "event event=late topic=/tasks/exit after=/tasks/delete"
	type turns = []harness.Verdict
	holds := harness.Verdict{Outcome: harness.Held}
	unproven := harness.Verdict{Outcome: harness.Invalid, Version: "v2.4.2"}
	violated := func(release string, found ...string) harness.Verdict {
		v := harness.Verdict{Outcome: harness.Violated, Version: release}
		for _, m := range finding.MustMatches(found...) {
			v.Findings = append(v.Findings, finding.Finding{Class: m.Class, Facts: m.Facts})
		}
		return v
	}
	once := &inTurn{verdicts: turns{violated("v2.4.2", late), holds}}
	if err := held(t, once, "task"); err == nil || once.runs != 1 {
		t.Errorf("a task's client waits for the event: %v after %d runs", err, once.runs)
	}
	other := &inTurn{verdicts: turns{violated("v2.4.2", late), violated("v2.4.2", "shim task=none")}}
	var says *TraceError
	_, err := hitsOf(t, other, "cri")
	if !errors.As(err, &says) || !says.Verdict.Has(finding.ClassShim) {
		t.Errorf("the second finding is not reported: %v", err)
	}
	for label, tt := range map[string]struct {
		verdicts turns
		runs     int
		fails    bool
	}{
		"it holds":                       {turns{holds}, 1, false},
		"a race that does not come back": {turns{violated("v2.4.2", late), holds}, 1 + again, false},
		"it comes each time":             {turns{violated("v2.4.2", late)}, 2, true},
		"it comes again later": {turns{violated("v2.4.2", late), holds, holds, holds, violated("v2.4.2", late)},
			1 + again, true},
		"then nothing is proven":                 {turns{violated("v2.4.2", late), unproven}, 2, true},
		"a release that is not known to have it": {turns{violated("v2.3.7", late), holds}, 1, true},
		"something else beside it":               {turns{violated("v2.4.2", late, "shim task=none"), holds}, 1, true},
		"any late event":                         {turns{violated("v2.4.2", "event event=late"), holds}, 1, true},
		"nothing was proven":                     {turns{unproven, holds}, 1, true},
	} {
		for how, run := range map[string]func(engine.Runner) error{
			"hold": func(e engine.Runner) error { return held(t, e, "cri") },
			"trace": func(e engine.Runner) error {
				_, err := hitsOf(t, e, "cri")
				return err
			},
		} {
			t.Run(label+"/"+how, func(t *testing.T) {
				e := &inTurn{verdicts: tt.verdicts}
				err := run(e)
				var failed *TraceError
				if errors.As(err, &failed) != tt.fails || (err != nil) != tt.fails || e.runs != tt.runs {
					t.Errorf("%v after %d runs, not after %d", err, e.runs, tt.runs)
				}
			})
		}
	}
}

// On a slow machine a group may get two shims. A plain case with a group may show that,
// like the workload "grouped". Only a group has such findings.
func TestAGroupOfASlowMachine(t *testing.T) {
	lost := harness.Verdict{Outcome: harness.Violated, Version: "v2.4.2"}
	for _, m := range finding.MustMatches(
		"shim task=none bundle=gone served-by=two-shims", "end status=killed served-by=two-shims",
		"exit-code by=delete status=unreported served-by=two-shims", "file in=running-owner served-by=two-shims") {
		lost.Findings = append(lost.Findings, finding.Finding{Class: m.Class, Facts: m.Facts})
	}
	e := &inTurn{verdicts: []harness.Verdict{lost, {Outcome: harness.Held}}}
	c := harness.Case{Name: "x", Workload: harness.Workload{Grouped: true}}
	must.Succeed(t, task(t, e, func(task *engine.Task) error {
		run := func() (harness.Verdict, error) { return task.Run(c) }
		first, _ := run()
		if v, ok, err := orLostByChance(task, first, plainLike(c.Workload), run); !ok || err != nil {
			t.Errorf("%v, %v, %v", ok, v, err)
		}
		return nil
	}))
}
