package repro

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/shimquake/shimquake/catalogue"
	"github.com/shimquake/shimquake/fixtures/containerd"
	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/harness/runner"
	"github.com/shimquake/shimquake/oracle/affected"
	"github.com/shimquake/shimquake/oracle/finding"
	"github.com/shimquake/shimquake/repro/rank"
	"github.com/shimquake/shimquake/repro/read"
	"github.com/shimquake/shimquake/repro/search"
)

func found(texts ...string) (out []finding.Finding) {
	for _, m := range finding.MustMatches(texts...) {
		out = append(out, finding.Finding{Invariant: finding.Leak, Class: m.Class, Facts: m.Facts})
	}
	return out
}

func TestShows(t *testing.T) {
	two := catalogue.Bug{ID: "b", Left: finding.MustMatches("shim task=none", "socket socket=listening")}
	one := two
	one.OneOf = true
	residue := harness.Verdict{Outcome: harness.Held, Findings: found("shim task=none", "socket socket=listening")}
	for i := range residue.Findings {
		residue.Findings[i].Known = "another"
	}
	for _, c := range []struct {
		name string
		bug  catalogue.Bug
		v    harness.Verdict
		want int
	}{
		{"both", two, harness.Verdict{Outcome: harness.Violated, Findings: found("shim task=none bundle=gone",
			"socket socket=listening")}, 2},
		{"one of two", two, harness.Verdict{Outcome: harness.Violated, Findings: found("shim task=none")}, 0},
		{"one of several", one, harness.Verdict{Outcome: harness.Violated, Findings: found("shim task=none")}, 1},
		{"another state", one, harness.Verdict{Outcome: harness.Violated, Findings: found("shim task=RUNNING")}, 0},
		{"an invalid run", two, harness.Verdict{Outcome: harness.Invalid, Findings: found("shim task=none",
			"socket socket=listening")}, 0},
		{"another's residue", two, residue, 0},
	} {
		if got := Shows(c.bug, c.v); len(got) != c.want {
			t.Errorf("%s: %d findings show it, want %d", c.name, len(got), c.want)
		}
	}
}

// A run reproduces a report only if it leaves the reported objects. It is not enough that
// the run shows the bug.
func TestARunIsComparedWithTheReport(t *testing.T) {
	leak := catalogue.Bug{ID: "leak", Left: finding.MustMatches("shim task=none")}
	shim := found("shim task=none bundle=gone socket=listening")
	statuses := found("exit-code by=TaskExit status=made-up-137 reported=137 true=3",
		"event event=repeated topic=/tasks/exit repeat=other-status")
	orphan := "root 7 1 0 1:00 ? 0:00 /usr/bin/containerd-shim-runc-v2 -namespace a -id x -address y\n" +
		"# ctr -n a t ls\nTASK PID STATUS\n"
	exit := `2025-08-21 15:00:31 +0000 UTC svc /tasks/exit {"container_id":"a","id":"a","pid":7,"exit_status":%d}` + "\n"
	twice := fmt.Sprintf(exit+exit, 7, 137)
	for name, c := range map[string]struct {
		report string
		left   []finding.Finding
		like   int
	}{
		"all symptoms":              {orphan, shim, 1},
		"no symptom of it":          {twice, shim, 0},
		"also its symptoms":         {twice, append(statuses, shim...), 1},
		"the smaller part":          {orphan + twice, shim, 0},
		"the greater part":          {orphan + twice, append(statuses, shim...), 1},
		"in another state":          {orphan, found("shim task=none"), 1},
		"no symptom":                {"containerd github.com/containerd/containerd v2.3.7 0", shim, 1},
		"a symptom without a fact":  {orphan + "panic: send on closed channel", shim, 1},
		"only such a symptom":       {"panic: send on closed channel", shim, 1},
		"an exit of another status": {twice, append(found("exit-code by=wait status=made-up-137"), shim...), 0},
	} {
		r := read.Text(c.report)
		var trial Trial
		trial.add(leak, harness.Verdict{Outcome: harness.Violated, Findings: c.left}, &r)
		if trial.Shown != 1 || trial.Like != c.like || trial.Reproduced() != (c.like > 0) {
			t.Errorf("%s: shown %d, like %d, want 1 and %d", name, trial.Shown, trial.Like, c.like)
		}
		want := map[bool]string{true: "shown", false: "unlike"}[c.like > 0]
		trial.Runs = 1
		says := strings.Contains(trial.String(), "does not mention: leak shim")
		if got := trial.outcome(); got != want || says != (c.like == 0) {
			t.Errorf("%s: %s %s", name, got, trial)
		}
	}
	var named Trial
	if named.add(leak, harness.Verdict{Outcome: harness.Violated, Findings: shim}, nil); named.Like != 1 {
		t.Error("a run that shows a named bug does not count")
	}
}

// A trial has logged each message that one of its runs logged.
func TestTrialWithMoreRuns(t *testing.T) {
	first := Trial{Runs: 1, Shown: 1, Left: []string{"x"}, Quoted: []int{3, 7}, Logged: []int{7}, alike: []int{20, 100}}
	first.sum()
	more := Trial{Runs: 4, Shown: 3, Held: 1, Left: []string{"y"}, Quoted: []int{3, 7}, Logged: []int{3, 7},
		alike: []int{100, 90}}
	more.sum()
	got := Trial{}.with(first).with(more)
	if got.Runs != 5 || got.Shown != 4 || got.Held != 1 || !slices.Equal(got.Logged, []int{3, 7}) || got.Alike != 200 ||
		!slices.Equal(got.Left, []string{"x"}) {
		t.Errorf("got %+v", got)
	}
}

// The best trial is the one that shows its bug and logs most. If two log the same
// number, the bug that fits better is the best.
func TestMostAlike(t *testing.T) {
	held := Trial{Runs: 1, Held: 1, Alike: 300}
	one, two := Trial{Runs: 1, Shown: 1, Like: 1, Alike: 100}, Trial{Runs: 1, Shown: 1, Like: 1, Alike: 200}
	unlike := Trial{Runs: 1, Shown: 1, Alike: 300} // shows its bug, but not the reported symptoms
	for name, c := range map[string]struct {
		trials []Trial
		want   int
	}{
		"none was shown": {[]Trial{held}, -1},
		"the most":       {[]Trial{held, one, two}, 2},
		"not this":       {[]Trial{unlike, one}, 1},
		"as much":        {[]Trial{one, two, two}, 1},
	} {
		if got := (&Answer{Trials: c.trials}).maxAlike(); got != c.want {
			t.Errorf("%s: %d, want %d", name, got, c.want)
		}
	}
}

func TestEveryKindHasWords(t *testing.T) {
	for _, w := range read.Kinds() {
		if w.Words() == "" {
			t.Errorf("no words for %s", w)
		}
	}
}

// TestStatus checks the exit statuses: 0 held, 1 shown, 3 nothing is known.
func TestStatus(t *testing.T) {
	held := Trial{Runs: 5, Held: 5}
	for name, c := range map[string]struct {
		a    Answer
		want int
	}{
		"shown":             {Answer{Best: 0, Trials: []Trial{{Runs: 5, Shown: 1, Like: 1}}}, 1},
		"shown, and unlike": {Answer{Best: -1, Trials: []Trial{{Runs: 5, Shown: 5}}}, 3},
		"held":              {Answer{Best: -1, Trials: []Trial{held}}, 0},
		"one was invalid":   {Answer{Best: -1, Trials: []Trial{held, {Runs: 5, Held: 4}}}, 3},
		"nothing was run":   {Answer{Best: -1}, 3},
		"held, then empty":  {Answer{Best: -1, Trials: []Trial{held}, Search: emptySearch()}, 3},
		"found":             {Answer{Best: -1, Search: foundSearch()}, 1},
	} {
		if got := c.a.Status(); got != c.want {
			t.Errorf("%s: status %d, want %d", name, got, c.want)
		}
	}
}

// A bug that the reported release does not have is excluded, with a reason.
func TestReleaseExcludes(t *testing.T) {
	r := readFile(t, "../fixtures/reports/orphans-in-ps.txt")
	for release, want := range map[string]bool{"v1.7.2": true, "v1.7.4": false, "v2.4.2": false} {
		a := Match(r, Options{Containerd: release, Bugs: catalogue.BySeverity()})
		i := slices.IndexFunc(a.Fits, func(f rank.Fit) bool { return f.ID == "containerd-7496" })
		reported := slices.ContainsFunc(a.Fits[i].Reasons, func(x rank.Reason) bool { return x.Why == rank.OtherOne })
		if a.Fits[i].Clears != want || reported == want {
			t.Errorf("%s: fits %v, with the reason %v", release, a.Fits[i].Clears, reported)
		}
	}
}

// If a report names no release, the logged messages limit it. A bug that fits is tried on
// the newest such release.
func TestReleaseIsGuessed(t *testing.T) {
	line := func(msg string) string { return "time=\"t\" level=warning msg=\"" + msg + "\"\n" }
	for name, tt := range map[string]struct{ report, release, says string }{
		"a log of 1.x": {line("cleaning up after dead shim"), "v1.7.35", "(v1.6.8 to "},
		"a log of 2.x": {line("Image verifier blocked pull"), containerd.DefaultRelease, "(v2.0.14 to "},
		"the release is named": {"containerd github.com/containerd/containerd v2.0.5 0\n" +
			line("Image verifier blocked pull"),
			"v2.0.5", ""},
		"no log": {"hello", "", ""},
	} {
		a := Match(read.Text(tt.report), Options{Bugs: catalogue.BySeverity()})
		if a.Release != tt.release || !strings.Contains(a.guessText(), tt.says) || (tt.says == "") != (a.guessText() == "") {
			t.Errorf("%s: %q, %q", name, a.Release, a.guessText())
		}
	}
	other := Answer{Guessed: true, Release: "v1.7.32", Bound: []string{"v2.4.2"}}
	if got := other.guessText(); !strings.Contains(got, "has the bug") {
		t.Errorf("a release that cannot log it: %q", got)
	}
	two := affected.Releases{"1.7": {Bad: "v1.7.35"}, "2.4": {Bad: "v2.4.2"}}
	a := Answer{Bound: []string{"v1.6.36", "v1.7.4"}, Fits: []rank.Fit{{Clears: true, Bug: catalogue.Bug{
		Releases: two, Cases: []harness.Case{{}}}}}}
	if got := a.guess(); got != "v1.7.35" {
		t.Errorf("a bug of 1.7 and 2.4 with a log of 1.x is tried on %s", got)
	}
}

func TestNothingSearchedSaysWhatWouldHelp(t *testing.T) {
	a := Match(read.Text("pods are stuck"), Options{Bugs: catalogue.BySeverity()})
	a.Search = emptySearch()
	a.Search.Why = "there is nothing to look for"
	for _, want := range []string{"NOT SEARCHED", "shimquake audit --bundle", "journalctl"} {
		if text := a.FitsText() + a.String(); !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
}

// A bug that fits and has no case is reported with its workaround, and there is no
// search.
func TestBugWithoutACaseIsReported(t *testing.T) {
	bug, err := catalogue.FindBug("containerd-9309")
	if err != nil || len(bug.Cases) > 0 {
		t.Fatal("the test needs a bug without a case", err)
	}
	r := read.Text(`time="2026-11-19T02:41:07.338211034Z" level=error msg="failed to handle sandbox TaskExit event ` +
		`&TaskExit{ContainerID:x,ID:x,Pid:7,ExitStatus:0}" error="failed to stop sandbox: context deadline exceeded"` +
		"\nroot 7 1 0 1:00 ? 0:00 /usr/bin/containerd-shim-runc-v2 -namespace k8s.io -id x -address y\n" +
		"# ctr -n k8s.io t ls\nTASK PID STATUS\n" +
		"containerd --version\ncontainerd github.com/containerd/containerd v1.6.24 0\n")
	asked, err := ForReport(t.Context(), r, Options{Bugs: []catalogue.Bug{bug}, For: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	named, err := ForBug(t.Context(), bug, Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range []Answer{asked, named} {
		for _, want := range []string{"NOT RUN: containerd-9309 fits", "workaround: Use runtime v2"} {
			if text := a.String(); !strings.Contains(text, want) || a.Status() != 3 {
				t.Errorf("status %d, no %q in\n%s", a.Status(), want, text)
			}
		}
	}
}

func emptySearch() *search.Result { return &search.Result{} }
func foundSearch() *search.Result { return &search.Result{Found: &search.Found{}} }

// A runner keeps its settings across a search.
func TestASearchPutsTheRunnerBack(t *testing.T) {
	r := &runner.Runner{Residues: catalogue.Residues(), KeepAll: true}
	back := asSearch(r)
	if r.KeepAll || !r.Brief {
		t.Errorf("KeepAll %v, Brief %v while it searches", r.KeepAll, r.Brief)
	}
	if back(); !r.KeepAll || r.Brief {
		t.Errorf("KeepAll %v, Brief %v after it", r.KeepAll, r.Brief)
	}
}

// A bug that shows and fits as well as the best trial is named beside it. So is a bug
// that fits as well and was not run.
func TestTiesAreNamed(t *testing.T) {
	bugs := catalogue.BySeverity()[:4]
	a := Answer{Release: "v2.4.2", bugs: map[string]catalogue.Bug{}}
	for i, b := range bugs {
		b.Cases = []harness.Case{{Name: b.ID}}
		a.bugs[b.ID] = b
		a.Fits = append(a.Fits, rank.Fit{Bug: b, ID: b.ID, Score: 4 - i/3, Clears: true})
	}
	for _, b := range bugs[:2] {
		a.Trials = append(a.Trials, Trial{Bug: b.ID, Runs: 5, Shown: 5, Like: 5})
	}
	text := a.String()
	for want, is := range map[string]bool{
		bugs[1].ID + ": same remains":              true,
		bugs[2].ID + ": known remains fit as well": true,
		bugs[3].ID: false, // fits less
	} {
		if strings.Contains(text, want) != is {
			t.Errorf("%q: want %v in\n%s", want, is, text)
		}
	}
}

// A reproduced report does not print NOT FOUND if a search for a better case failed.
func TestReproducedAndNotFoundDoNotStandTogether(t *testing.T) {
	bug := catalogue.BySeverity()[0]
	a := Answer{Release: "v2.4.2", bugs: map[string]catalogue.Bug{bug.ID: bug}, Search: emptySearch()}
	a.Trials = []Trial{{Bug: bug.ID, Runs: 5, Shown: 5, Like: 5}}
	text := a.String()
	for want, is := range map[string]bool{"REPRODUCED": true, "NOT FOUND": false, "searched:": true} {
		if strings.Contains(text, want) != is {
			t.Errorf("%q: want %v in\n%s", want, is, text)
		}
	}
	if a.Best = -1; !strings.Contains(a.String(), "NOT FOUND") {
		t.Error(a.String())
	}
}
