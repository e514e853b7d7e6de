// Package repro finds the bug behind a report of a leak. It shows a known bug on the
// reported release, or else searches for a case with the same symptoms.
package repro

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"

	"github.com/shimquake/shimquake/catalogue"
	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/harness/runner"
	"github.com/shimquake/shimquake/oracle/finding"
	"github.com/shimquake/shimquake/oracle/wording"
	"github.com/shimquake/shimquake/progress"
	"github.com/shimquake/shimquake/quote"
	"github.com/shimquake/shimquake/repro/rank"
	"github.com/shimquake/shimquake/repro/read"
	"github.com/shimquake/shimquake/repro/statement"
	"github.com/shimquake/shimquake/sweep/engine"
)

// Trial is a bug's case, run on a release several times.
type Trial struct {
	Bug     string `json:"bug"`
	Case    string `json:"case"`
	Release string `json:"containerd"`
	// Runs is the number of runs. Shown is the number of runs that showed the bug, and Held
	// is the number of runs that held. Like is the number of runs in Shown that also left
	// the reported objects. Without a report, Like equals Shown.
	Runs  int `json:"runs"`
	Shown int `json:"shown"`
	Like  int `json:"like"`
	Held  int `json:"held"`
	// Left are the findings of one run that show the bug, preferably of a run in Like.
	Left []string `json:"left,omitempty"`
	// Quoted are the lines of the report's warnings and errors. Logged are the lines among
	// them that a run has logged, too. Alike is how similar the messages of the runs are
	// to them, in hundredths of a message.
	Logged []int `json:"logged,omitempty"`
	Quoted []int `json:"quoted,omitempty"`
	Alike  int   `json:"alike,omitempty"`
	alike  []int // for each quoted message
	// Why is why a run did not show the bug.
	Why string `json:"why,omitempty"`
	// Evidence is the folder of one run's evidence.
	Evidence string `json:"evidence,omitempty"`
}

// Reproduced reports whether a run has shown the bug with the reported symptoms.
func (t Trial) Reproduced() bool { return t.Like > 0 }

// Missing returns the lines with messages that no run has logged. The leak may then have
// another cause.
func (t Trial) Missing() []int {
	return slices.DeleteFunc(slices.Clone(t.Quoted), func(line int) bool { return slices.Contains(t.Logged, line) })
}

// Trier runs the cases of bugs.
type Trier struct {
	// Runner is the Engine's.
	Runner *runner.Runner
	Engine *engine.Engine
	// Runs is the number of runs of a case.
	Runs int
	// Log receives the progress.
	Log io.Writer
	// Keep, if not nil, is called with each verdict, for a report.
	Keep func(harness.Verdict)
}

// Try runs each bug's first case that this machine can run, so many times, and returns
// the trials in the order of the bugs. It compares the findings and the messages of the
// runs with the report, if there is one.
func (t Trier) Try(ctx context.Context, release string, runs int, r *read.Report, bugs ...catalogue.Bug) (
	[]Trial, error) {
	if err := t.Runner.Prepare(ctx, release); err != nil {
		return nil, err
	}
	for _, b := range bugs {
		fmt.Fprintf(t.Log, "running %s on containerd %s, %s ...\n", b.Cases[0].Name, release, quote.Count(runs, "time"))
	}
	what := "cases of known bugs"
	if len(bugs) == 1 {
		what = bugs[0].Cases[0].Name
	}
	lists := make([][]harness.Case, len(bugs))
	for i, b := range bugs {
		lists[i] = b.Cases
	}
	verdicts, err := t.run(ctx, release, what, "runs", lists, runs)
	if err != nil {
		return nil, err
	}
	trials := make([]Trial, len(bugs))
	for i, b := range bugs {
		t := Trial{Bug: b.ID, Case: verdicts[i][0].Case.Name, Release: release, Runs: len(verdicts[i])}
		for _, v := range verdicts[i] {
			t.add(b, v, r)
		}
		if r != nil {
			t.compare(verdicts[i], Quoted(*r))
		}
		trials[i] = t
	}
	return trials, nil
}

// run runs the first case of each list that this machine can run, so many times. It
// returns the verdicts of each list.
func (t Trier) run(ctx context.Context, release, what, unit string, lists [][]harness.Case, runs int) (
	[][]harness.Verdict, error) {
	type ran struct {
		list    int
		verdict harness.Verdict
	}
	w := progress.Begin(ctx, what+" on "+release, len(lists)*runs, unit)
	defer w.End()
	verdicts := make([][]harness.Verdict, len(lists))
	all := engine.Indexes(len(lists) * runs)
	return verdicts, engine.Each(ctx, t.Engine, all, func(task *engine.Task, i int) (r ran, err error) {
		r.list = i / runs
		for _, c := range lists[r.list] {
			c.Containerd = release
			if r.verdict, err = task.Run(c); err != nil || !r.verdict.UnableHere() {
				break
			}
		}
		return r, err
	}, func(task *engine.Task, r ran) error {
		task.Keep(r.verdict.Evidence)
		if t.Keep != nil {
			t.Keep(r.verdict)
		}
		verdicts[r.list] = append(verdicts[r.list], r.verdict)
		w.Step("")
		return nil
	})
}

// add counts the result of a run.
func (t *Trial) add(b catalogue.Bug, v harness.Verdict, r *read.Report) {
	switch left := Shows(b, v); {
	case len(left) > 0:
		t.Shown++
		like := r == nil || rank.Explained(*r, v.Findings)
		if t.Left == nil || like && t.Like == 0 {
			t.Left, t.Evidence = texts(left), v.Evidence
		}
		if like {
			t.Like++
		}
	case v.Outcome == harness.Held:
		t.Held++
	case v.Outcome == harness.Invalid:
		t.Why = v.ProblemsText()
	default:
		t.Why = "other findings: " + texts(v.Violations())[0]
	}
}

// Shows returns the findings by which a verdict shows a bug. It returns none if a
// required finding is missing.
func Shows(b catalogue.Bug, v harness.Verdict) (left []finding.Finding) {
	if v.Outcome == harness.Invalid {
		return nil
	}
	must := b.Left
	if len(must) == 0 {
		must = b.Matches()
	}
	missing := 0
	for _, m := range must {
		i := slices.IndexFunc(v.Findings, func(f finding.Finding) bool {
			return m.Matches(f) && (f.Known == "" || f.Known == b.ID)
		})
		if i < 0 {
			missing++
			continue
		}
		left = append(left, v.Findings[i])
	}
	if missing > 0 && !b.OneOf && len(b.Left) > 0 {
		return nil
	}
	return left
}

func texts(all []finding.Finding) []string {
	out := make([]string, len(all))
	for i, f := range all {
		out[i] = harness.ShortIDs(wording.Of(f))
	}
	return out
}

// compare notes which of the report's messages the runs have logged, too. The error
// beside a message may differ, because the fault has an error of its own.
func (t *Trial) compare(verdicts []harness.Verdict, quoted []read.Observation) {
	var all []statement.Match
	for _, v := range verdicts {
		all = append(all, saidIn(v.Evidence)...)
	}
	for _, q := range quoted {
		best, logged := 0, false
		for _, m := range all {
			best, logged = max(best, q.Made.Similarity(m)), logged || q.Made.Holds(m)
		}
		t.Quoted, t.alike = append(t.Quoted, q.Lines[0]), append(t.alike, best)
		if logged {
			t.Logged = append(t.Logged, q.Lines[0])
		}
	}
	t.sum()
}

func (t *Trial) sum() {
	t.Alike = 0
	for _, n := range t.alike {
		t.Alike += n
	}
}

// with returns the trial with more runs of the same case.
func (t Trial) with(more Trial) Trial {
	if t.Runs == 0 {
		return more
	}
	if t.Left == nil || t.Like == 0 && more.Like > 0 {
		t.Left, t.Evidence = more.Left, more.Evidence
	}
	t.Runs, t.Shown, t.Held, t.Like = t.Runs+more.Runs, t.Shown+more.Shown, t.Held+more.Held, t.Like+more.Like
	t.Why = cmp.Or(t.Why, more.Why)
	t.Logged = slices.Compact(slices.Sorted(slices.Values(slices.Concat(t.Logged, more.Logged))))
	t.alike = slices.Clone(t.alike)
	for i := range t.alike {
		t.alike[i] = max(t.alike[i], more.alike[i])
	}
	t.sum()
	return t
}
