package triage

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/shimquake/shimquake/catalogue"
	"github.com/shimquake/shimquake/failpoints"
	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/must"
	"github.com/shimquake/shimquake/oracle/callerr"
	"github.com/shimquake/shimquake/oracle/fact"
	"github.com/shimquake/shimquake/oracle/finding"
	"github.com/shimquake/shimquake/sweep/journal"
	"github.com/shimquake/shimquake/sweep/plan"
)

// shimLeft returns the findings of a leaked shim in one case: with its ids.
func shimLeft(pid int, id string) []finding.Finding {
	return []finding.Finding{
		{
			Invariant: finding.Leak,
			Class:     finding.ClassShim,
			Subject:   finding.Subject{PID: pid, ID: id},
			Facts: fact.Facts{
				fact.Task: fact.None, fact.Bundle: fact.Gone,
				fact.Socket: fact.Listening, fact.Children: fact.None},
		},
		{
			Invariant: finding.Leak,
			Class:     finding.ClassSocket,
			Subject:   finding.Subject{PID: pid, ID: id},
			Facts: fact.Facts{
				fact.Socket: fact.Listening, fact.Holder: fact.ByShim, fact.Bundle: fact.NoneLeft},
		},
		{Invariant: finding.Liveness, Class: finding.ClassContainer, Subject: finding.Subject{ID: id},
			Facts: callerr.Of(errors.New(id + " exists")).Facts(fact.IDReuse)},
	}
}

func wrongExit(kind, by string) finding.Finding {
	return finding.Finding{Invariant: finding.Exit, Class: finding.ClassExitCode,
		Facts: fact.Facts{fact.By: by, fact.Status: kind, fact.Reported: "137", fact.True: "7"}}
}

func TestSignaturesLeaveOutTheCase(t *testing.T) {
	for name, c := range map[string]struct {
		found []finding.Finding
		want  string
	}{
		"a leaked shim, and what comes with it": {
			shimLeft(41, "c0"), "leak shim: task=none bundle=gone socket=listening children=none"},
		"a wrong exit status": {
			[]finding.Finding{wrongExit(fact.MadeUp137, "TaskExit")}, "exit exit-code: by=TaskExit status=made-up-137"},
		"an event that is missing": {[]finding.Finding{{
			Invariant: finding.Event, Class: finding.ClassEvent, Subject: finding.Subject{ID: "c0"},
			Facts: fact.Facts{
				fact.Event: fact.Missing, fact.Topic: "/tasks/exit", fact.At: "17:36:23.420"}}},
			"event event: event=missing topic=/tasks/exit"},
		"a process": {[]finding.Finding{{
			Invariant: finding.Leak, Class: finding.ClassProcess, Subject: finding.Subject{ID: "c0"},
			Facts: fact.Facts{
				fact.Program: "payload", fact.Parent: fact.ByShim,
				fact.ParentPID: "41", fact.ChildPIDs: "43 44"}}},
			"leak process: program=payload parent=shim"},
		"a call that failed": {[]finding.Finding{{
			Invariant: finding.Liveness, Class: finding.ClassContainer, Facts: callerr.Of(
				&callerr.Error{Call: "delete", Err: errors.New("task c0 of pid 41: after 10.2s")}).Facts(fact.Removal)}},
			"liveness container: what=removal call=delete code=Unknown message=task ID of pid N: after TIME"},
	} {
		main, _ := reduced(c.found)
		must.Equal(t, text(main), c.want, name)
	}
}

func TestFamilies(t *testing.T) {
	main, _ := reduced(append(shimLeft(5, "c0"), wrongExit(fact.MadeUp137, "TaskExit"),
		wrongExit(fact.MadeUp137, "wait"), wrongExit(fact.MadeUp255, "cri-status")))
	var got []string
	for _, f := range families(main) {
		got = append(got, fmt.Sprintf("%s x%d", f[0].Class, len(f)))
	}
	must.Equal(t, got, []string{"shim x1", "exit-code x2", "exit-code x1"})
}

// planOf returns a plan with a crash at each of these points, on lines 10, 20, ...
func planOf(points ...string) plan.Plan {
	p := plan.Plan{Version: "v2.4.2", Places: map[failpoints.Point]plan.Place{}}
	for i, name := range points {
		at := failpoints.MustPoint(name)
		p.Specs = append(p.Specs, plan.Single(plan.Hit{Point: at, Nth: 1, Path: "create"}, "crash", "task"))
		p.Places[at] = plan.Place{File: "core/runtime/v2/binary.go", Line: 10 * (i + 1)}
	}
	return p
}

func headOf(p plan.Plan) journal.Head { return journal.Head{Plan: p, Shard: plan.Shard{I: 1, Of: 1}} }

func report(p plan.Plan, known []catalogue.Excuse, found ...[]finding.Finding) Report {
	results := make([]journal.Result, len(found))
	for i, f := range found {
		results[i] = journal.Result{I: i, Outcome: harness.Held, Found: f}
		if len(f) > 0 {
			results[i].Outcome = harness.Violated
		}
	}
	return NewReport(headOf(p), results, known)
}

const start = "stmt:containerd:runtime.binary.Start:"

func TestPointsOfOneWindowAreOneFinding(t *testing.T) {
	p := planOf(start+"a", start+"b", start+"c", start+"d", start+"e")
	more := append(shimLeft(2, "c1"), finding.Finding{Invariant: finding.Leak, Class: finding.ClassLease})
	r := report(p, nil, nil, shimLeft(1, "c0"), nil, more, nil)
	if len(r.New) != 1 {
		t.Fatalf("%d findings, want 1:\n%s", len(r.New), r)
	}
	g := r.New[0]
	want := Window{Who: "containerd", Function: "runtime.binary.Start",
		First: failpoints.MustPoint(start + "b"), Last: failpoints.MustPoint(start + "d"),
		From: plan.Place{File: "core/runtime/v2/binary.go", Line: 20},
		To:   plan.Place{File: "core/runtime/v2/binary.go", Line: 40}, Points: 2, Swept: 3}
	if g.Points != 2 || len(g.Windows) != 1 || g.Windows[0] != want {
		t.Errorf("windows %+v, want %+v", g.Windows, want)
	}
	must.Equal(t, g.Also["leak lease"], 1, "what one of them leaves besides is not reported", g.Also)
	if g.Name != "shim-containerd-runtime.binary.start" || r.Status() != 1 {
		t.Errorf("name %q, status %d", g.Name, r.Status())
	}
}

func TestAnotherReasonIsAnotherFinding(t *testing.T) {
	other := shimLeft(3, "c0")
	other[0].Facts = fact.Facts{
		fact.Task: "STOPPED", fact.Bundle: fact.There, fact.Socket: fact.None}
	r := report(planOf(start+"a", start+"b"), nil, shimLeft(1, "c0"), other)
	if len(r.New) != 2 || r.New[0].Name == r.New[1].Name {
		t.Errorf("%d findings, want 2 of different names:\n%s", len(r.New), r)
	}
}

// known returns a finding of the catalogue that explains a leaked shim in binary.Start.
func known(t *testing.T, edit ...string) catalogue.Excuse {
	t.Helper()
	text := strings.NewReplacer(edit...).Replace(`id: start
title: a shim that stays
kind: defect
severity: high
trigger: a crash
releases:
  "2.0": {bad: v2.0.14}
why: why
verified: {by: [ran]}
odds: 20 of 20
left:
  - shim task=none
sweep:
  where: ["containerd runtime.binary.*"]
cases:
  - name: start
    workload: {containers: [{exit: 7}]}
    plan: [{at: "` + start + `a", do: 1*crash}]
`)
	b := must.Get(catalogue.ParseBug("start.yaml", []byte(text)))(t)
	return *b.Sweep
}

func TestKnownFindings(t *testing.T) {
	p := planOf(start+"a", start+"b")
	both := append(shimLeft(1, "c0"), wrongExit(fact.MadeUp0, "wait"))
	for name, c := range map[string]struct {
		edit   []string
		found  []finding.Finding
		fresh  int
		seen   int
		status int
	}{
		"explained":                        {nil, shimLeft(1, "c0"), 0, 1, 0},
		"explained, and something besides": {nil, both, 1, 1, 1},
		"of another release": {
			[]string{"2.0\": {bad: v2.0.14}", "2.0\": {bad: v2.0.14, fixed: v2.0.15}"}, shimLeft(1, "c0"), 1, 0, 1,
		},
		"of this very point": {
			[]string{"containerd runtime.binary.*", start + "[ab]"}, shimLeft(1, "c0"), 0, 1, 0},
		"of another point of the function": {
			[]string{"containerd runtime.binary.*", start + "b"}, shimLeft(1, "c0"), 1, 0, 1},
		"of another place":         {[]string{"binary.*", "shim.*"}, shimLeft(1, "c0"), 1, 0, 1},
		"of another action":        {[]string{"  where:", "  actions: [error]\n  where:"}, shimLeft(1, "c0"), 1, 0, 1},
		"facts that are not there": {[]string{"task=none", "bundle=there"}, shimLeft(1, "c0"), 1, 0, 1},
	} {
		r := report(p, []catalogue.Excuse{known(t, c.edit...)}, c.found, nil)
		if len(r.New) != c.fresh || len(r.Known) != c.seen || r.Status() != c.status {
			t.Errorf("%s: want %d new, %d known, status %d; got status %d\n%s",
				name, c.fresh, c.seen, c.status, r.Status(), r)
		}
	}
}

func TestTheReportDoesNotDependOnTheOrderOfResults(t *testing.T) {
	p := planOf(start+"a", start+"b", start+"c")
	results := []journal.Result{
		{I: 0, Outcome: harness.Violated, Found: shimLeft(1, "c0")},
		{I: 1, Outcome: harness.Invalid, Why: "not fired: did not fire"},
		{I: 2, Outcome: harness.Violated, Found: []finding.Finding{wrongExit(fact.MadeUp255, "wait")}},
	}
	h := headOf(p)
	want := NewReport(h, results, nil)
	slices.Reverse(results)
	if got := NewReport(h, results, nil); got.String() != want.String() {
		t.Errorf("%s\nwant\n%s", got, want)
	}
	if want.Planned != 3 || want.Executed != 3 || want.Fired != 2 || len(want.Missed) != 1 {
		t.Errorf("%s", want)
	}
}

// A cluster's example has the values of its first case in the plan.
func TestExample(t *testing.T) {
	p := planOf(start+"a", start+"b")
	later, earlier := wrongExit(fact.MadeUp137, "TaskExit"), wrongExit(fact.MadeUp137, "TaskExit")
	later.Facts[fact.True] = "9"
	r := NewReport(headOf(p), []journal.Result{
		{I: 1, Outcome: harness.Violated, Found: []finding.Finding{later}},
		{I: 0, Outcome: harness.Violated, Found: []finding.Finding{earlier}},
	}, nil)
	if len(r.New) != 1 {
		t.Fatal(r)
	}
	got := r.New[0].Example(r.New[0].Left[0]).Facts
	must.Equal(t, got[fact.Reported], "137")
	must.Equal(t, got[fact.True], "7")
}

func TestWhatCanBeExcused(t *testing.T) {
	p := planOf(start+"a", start+"b", start+"c")
	p.Specs[1].Unsteady = true
	// A sweep in which no fault fires shows nothing, whatever the excuses.
	fired := journal.Result{I: 2, Outcome: harness.Held}
	for miss, want := range map[harness.Miss]int{
		"": 3, harness.MissUnobserved: 0, harness.MissAlreadyExited: 0, harness.MissTooFew: 0,
	} {
		missed := journal.Result{I: 0, Outcome: harness.Invalid, Why: "not fired: did not fire", Unfired: true, Miss: miss}
		unsteady := journal.Result{I: 1, Outcome: harness.Invalid, Why: "not fired: did not fire", Unfired: true}
		r := NewReport(headOf(p), []journal.Result{missed, unsteady, fired}, nil)
		if r.Status() != want || len(r.Missed) != 2 || r.Fired != 1 {
			t.Errorf("%q: status %d, want %d\n%s", miss, r.Status(), want, r)
		}
	}
	// Another action fires at the same hit of the point at its second try only, or at its
	// first.
	p.Specs[0].Faults[0].Point = p.Specs[2].Faults[0].Point
	p.Specs[0].Faults[0].Action = "loseResult"
	missed := journal.Result{I: 0, Outcome: harness.Invalid, Why: "not fired: did not fire", Unfired: true, Tries: 8}
	for tries, want := range map[int]int{0: 3, 2: 0} {
		fired.Tries = tries
		r := NewReport(headOf(p), []journal.Result{missed, fired}, nil)
		if r.Executed != 2 || r.Missed[0].Fewer != (want == 0) {
			t.Errorf("fired at try %d: %+v", tries, r.Missed)
		}
	}
	// A process that ignored the fault has not reached the point less often.
	missed.Miss, fired.Tries = harness.MissUnobserved, 2
	if m := NewReport(headOf(p), []journal.Result{missed, fired}, nil).Missed[0]; m.Fewer || !m.Ignored {
		t.Errorf("%+v", m)
	}
	fired.Tries = 0
	// The hit only excuses a miss, and not a workload that failed.
	r := NewReport(headOf(p), []journal.Result{{I: 1, Outcome: harness.Invalid, Why: "cannot create"}, fired}, nil)
	must.Equal(t, r.Status(), 3, "an unsteady hit excuses", r)
	nothing := NewReport(headOf(planOf(start+"a")), []journal.Result{
		{I: 0, Outcome: harness.Invalid, Why: "nobody looked", Miss: harness.MissUnobserved}}, nil)
	must.Equal(t, nothing.Status(), 3, "a sweep in which nothing fired: status", nothing)
}

// A leak of another shim does not excuse a client's failure, a forgotten container, or
// another container's mount.
func TestCompanionsOfAShim(t *testing.T) {
	shim := shimLeft(1, "c1")[0]
	shim.Subject.ID = "c1"
	for what, f := range map[string]finding.Finding{
		"the client gave up": {Invariant: finding.Liveness, Class: finding.ClassContainer,
			Facts: fact.Facts{fact.What: fact.Removal}},
		"a forgotten process":  {Invariant: finding.Forgot, Class: finding.ClassProcess, Subject: finding.Subject{ID: "c1"}},
		"a mount of another":   {Invariant: finding.Leak, Class: finding.ClassMount, Subject: finding.Subject{ID: "c2"}},
		"a process of another": {Invariant: finding.Leak, Class: finding.ClassProcess, Subject: finding.Subject{ID: "c2"}},
		"a mount of another pod": {
			Invariant: finding.Leak, Class: finding.ClassMount, Subject: finding.Subject{ID: "c2", Pod: "p2"}},
		"a socket of nobody": {Invariant: finding.Leak, Class: finding.ClassSocket},
	} {
		if main, _ := reduced([]finding.Finding{shim, f}); len(main) != 2 {
			t.Errorf("%s comes with the shim: %v", what, main)
		}
	}
	own := finding.Finding{Invariant: finding.Leak, Class: finding.ClassMount, Subject: finding.Subject{ID: "c1"}}
	inPod := finding.Finding{
		Invariant: finding.Leak, Class: finding.ClassMount, Subject: finding.Subject{ID: "c3", Pod: "p1"}}
	shim.Subject.Pod = "p1"
	for _, f := range []finding.Finding{own, inPod} {
		if main, with := reduced([]finding.Finding{shim, f}); len(main) != 1 || len(with) != 1 {
			t.Errorf("%v does not come with the shim: %v", f.Subject, main)
		}
	}
}

func TestStatus(t *testing.T) {
	p := planOf(start + "a")
	missed := NewReport(headOf(p), []journal.Result{{I: 0, Outcome: harness.Invalid, Why: "x"}}, nil)
	held, none := report(p, nil, nil), report(p, nil)
	if held.Status() != 0 || none.Status() != 3 || missed.Status() != 3 {
		t.Errorf("held %d, not run %d, invalid %d; want 0, 3, 3", held.Status(), none.Status(), missed.Status())
	}
	must.Contain(t, none.String(), "CUT OFF: 1 of 1 planned cases have no result", "what was not run")
	if text := held.String(); strings.Contains(text, "CUT OFF") {
		t.Errorf("all was run:\n%s", text)
	}
}

// Every result of a journal can be reported.
func FuzzReport(f *testing.F) {
	p := planOf(start+"a", start+"b").WithDigest()
	results := []journal.Result{
		{I: 1, Outcome: harness.Violated, Found: shimLeft(4, "c0")}, {I: 0, Outcome: harness.Invalid, Why: "x"}}
	dir := f.TempDir()
	j, err := journal.Create(dir, headOf(p))
	for _, r := range results {
		err = errors.Join(err, j.Add(&r))
	}
	file := filepath.Join(dir, "journal.jsonl")
	text, rerr := os.ReadFile(file)
	must.Succeed(f, errors.Join(err, rerr, j.Close()))
	f.Add(text)
	f.Fuzz(func(t *testing.T, text []byte) {
		dir := t.TempDir()
		must.Succeed(t, os.WriteFile(filepath.Join(dir, "journal.jsonl"), text, 0o600))
		if h, results, err := journal.Read(dir); err == nil {
			_ = NewReport(h, results, nil).String()
		}
	})
}

// A later hit of a loop may only be missing if an earlier one of the same point fired:
// otherwise the probe is broken.
func TestALoopThatRunsLessOften(t *testing.T) {
	p := planOf(start+"a", start+"a", start+"b", start+"a")
	for i, nth := range []int{1, 7, 7, 8} {
		p.Specs[i].Faults[0].Nth = nth
	}
	const fired, missed, failed = "fired", "missed", "failed"
	for name, c := range map[string]struct {
		is   [4]string // of hits 1 and 7 of a, 7 of b, 8 of a
		want int
	}{
		"after one that fired":      {[4]string{fired, missed, fired, fired}, 0},
		"the first one is missing":  {[4]string{missed, fired, fired, fired}, 3},
		"of a point that never did": {[4]string{fired, fired, missed, fired}, 3},
		"too many":                  {[4]string{fired, missed, fired, missed}, 3},
		"not a miss":                {[4]string{fired, failed, fired, fired}, 3},
	} {
		var results []journal.Result
		for i, is := range c.is {
			r := journal.Result{I: i, Outcome: harness.Held}
			if is != fired {
				r.Outcome, r.Unfired, r.Why = harness.Invalid, is == missed, is
			}
			results = append(results, r)
		}
		if r := NewReport(headOf(p), results, nil); r.Status() != c.want {
			t.Errorf("%s: status %d, want %d\n%s", name, r.Status(), c.want, r)
		}
	}
}
