package matrix

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/shimquake/shimquake/catalogue"
	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/oracle/fact"
	"github.com/shimquake/shimquake/oracle/finding"
	"github.com/shimquake/shimquake/sweep/engine"
)

// fake replaces a runner.
type fake func(harness.Case) harness.Verdict

func (e fake) Run(_ context.Context, c harness.Case) harness.Verdict {
	v := e(c)
	v.Case, v.Version = c, c.Containerd
	return v
}

func (e fake) Trace(context.Context, harness.Case) (harness.Trace, error) {
	return harness.Trace{}, errors.New("a matrix traces nothing")
}

// faked returns an engine whose runs return the verdicts of a function.
func faked(f func(harness.Case) harness.Verdict) *engine.Engine { return engine.New(fake(f), 2) }

func left(facts ...string) harness.Verdict {
	parsed, err := fact.ParseAll(facts)
	if err != nil {
		panic(err)
	}
	return harness.Verdict{Outcome: harness.Violated, Took: time.Second,
		Findings: []finding.Finding{{Invariant: finding.Leak, Class: finding.ClassShim, Facts: parsed}}}
}

var held = harness.Verdict{Outcome: harness.Held}

func problem(kind harness.ProblemKind) harness.Verdict {
	return harness.Verdict{Outcome: harness.Invalid, Problems: []harness.Problem{{Kind: kind, Text: "why"}}}
}

// bug returns a bug that leaks a shim on 2.3, and is fixed in 2.4.
func bug(t *testing.T, edit ...string) catalogue.Bug {
	t.Helper()
	b, err := catalogue.ParseBug("b.yaml", []byte(strings.NewReplacer(edit...).Replace(`id: b
title: a shim stays
kind: defect
severity: high
trigger: a crash
left: [shim task=none]
releases:
  "2.3": {bad: v2.3.7}
  "2.4": {fixed: v2.4.0}
why: why
verified: {by: [ran]}
odds: 20 of 20
cases:
  - name: b
    workload: {containers: [{exit: 7}]}
    plan: [{at: "rpc:shim:Task.Delete:entry", do: 1*crash}]
`)))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func run(t *testing.T, m Matrix) Table {
	t.Helper()
	if m.Dir == "" {
		m.Dir = t.TempDir()
	}
	if len(m.Releases) == 0 {
		m.Releases = []string{"v2.3.7", "v2.4.2"}
	}
	tab, err := m.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return tab
}

func TestCells(t *testing.T) {
	leak, other := left("task=none"), left("task=RUNNING")
	for name, c := range map[string]struct {
		old, now harness.Verdict
		want     string // of both cells
		status   int
	}{
		"as the catalogue says":         {leak, held, "bad, shown | ok, held", 0},
		"it is not there any more":      {held, held, "bad, HELD | ok, held", 1},
		"it came back":                  {leak, leak, "bad, shown | ok, SHOWN", 1},
		"another violation":             {other, held, "bad, OTHER | ok, held", 1},
		"another one where it held":     {leak, other, "bad, shown | ok, OTHER", 1},
		"a fault that did not fire":     {leak, problem(harness.ByMiss), "bad, shown | ok, INVALID", 3},
		"no such place there":           {leak, problem(harness.ByInput), "bad, shown | -", 0},
		"no such place where it is bad": {problem(harness.ByInput), held, "bad, NOPOINT | ok, held", 1},
		"no such place anywhere":        {problem(harness.ByInput), problem(harness.ByInput), "bad, NOPOINT | -", 1},
		"invalid, and one differs":      {held, problem(harness.ByMiss), "bad, HELD | ok, INVALID", 1},
		"more than it is known for": {
			harness.Verdict{Outcome: harness.Violated, Findings: append(other.Findings, leak.Findings...)},
			held, "bad, OTHER | ok, held", 1,
		},
		"a machine that cannot do it": {problem(harness.ByMachine), held, "bad, INVALID | ok, held", 3},
	} {
		b := bug(t)
		tab := run(t, Matrix{Bugs: []catalogue.Bug{b}, Engine: faked(func(k harness.Case) harness.Verdict {
			if k.Containerd == "v2.3.7" {
				return c.old
			}
			return c.now
		})})
		got := tab.word(b, "v2.3.7") + " | " + tab.word(b, "v2.4.2")
		if got != c.want || tab.Status() != c.status {
			t.Errorf("%s: %q, status %d; want %q, %d", name, got, tab.Status(), c.want, c.status)
		}
	}
}

// On an untested release every result is news, and differs from nothing.
func TestAnUntestedRelease(t *testing.T) {
	unknown := bug(t, `"2.3": {bad: v2.3.7}`, `"2.3": {unknown: its case does not reach the code}`)
	seen := bug(t, `"2.3": {bad: v2.3.7}`, `"2.3": {seen: v2.3.8}`)
	for name, c := range map[string]struct {
		bug    catalogue.Bug
		v      harness.Verdict
		want   string
		news   int
		status int
	}{
		"shown":                     {unknown, left("task=none"), "?, shown", 1, 0},
		"held":                      {seen, held, "?, held", 1, 0},
		"another violation":         {unknown, left("task=RUNNING"), "?, other", 1, 0},
		"no such place":             {seen, problem(harness.ByInput), "-", 0, 3},
		"it does not come there":    {unknown, problem(harness.ByMiss), "-", 0, 3},
		"a fault that did not fire": {seen, problem(harness.ByMiss), "?, INVALID", 0, 3},
	} {
		tab := run(t, Matrix{Bugs: []catalogue.Bug{c.bug}, Releases: []string{"v2.3.7"},
			Engine: faked(func(harness.Case) harness.Verdict { return c.v })})
		if got := tab.word(c.bug, "v2.3.7"); got != c.want || tab.Status() != c.status ||
			strings.Count(tab.String(), "NOT KNOWN: ") != c.news {
			t.Errorf("%s: %q, status %d; want %q, %d\n%s", name, got, tab.Status(), c.want, c.status, tab)
		}
	}
}

// If a case has no point on a release, the bug's next case decides.
func TestTheNextCaseIsTried(t *testing.T) {
	b := bug(t, "cases:\n", "cases:\n  - name: first\n    workload: {containers: [{exit: 7}]}\n"+
		"    plan: [{at: \"rpc:shim:Task.Kill:entry\", do: 1*crash}]\n")
	kept, err := harness.OpenHistories(filepath.Join(t.TempDir(), harness.HistoriesFile))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := kept.Close(); err != nil {
			t.Error(err)
		}
	})
	tab := run(t, Matrix{Bugs: []catalogue.Bug{b}, Releases: []string{"v2.3.7"},
		Histories: kept,
		Engine: faked(func(k harness.Case) harness.Verdict {
			if k.Name == "first" {
				return problem(harness.ByInput)
			}
			return left("task=none")
		})})
	c := tab.Cells[Key{"b", "v2.3.7"}]
	if c.Seen != Shown || c.Case != "b" || c.Runs != 1 || len(c.Histories) != 2 {
		t.Errorf("%+v", c)
	}
}

// Findings that may come with the bug do not show it alone.
func TestWhatComesBesidesIsNotTheBug(t *testing.T) {
	b := bug(t, "left: [shim task=none]", "left: [shim task=none]\nmay: [shim task=RUNNING]")
	for alone, want := range map[bool]string{true: "bad, HELD", false: "bad, shown"} {
		tab := run(t, Matrix{Bugs: []catalogue.Bug{b}, Releases: []string{"v2.3.7"},
			Engine: faked(func(harness.Case) harness.Verdict {
				v := left("task=RUNNING")
				if !alone {
					v.Findings = append(v.Findings, left("task=none").Findings...)
				}
				return v
			})})
		if got := tab.word(b, "v2.3.7"); got != want {
			t.Errorf("alone %t: %q, want %q", alone, got, want)
		}
	}
}

// A race runs until it shows, or as often as its odds need to hold.
func TestARaceRunsMoreThanOnce(t *testing.T) {
	var n atomic.Int64
	b := bug(t, "20 of 20", "10 of 20")
	tab := run(t, Matrix{Bugs: []catalogue.Bug{b}, Engine: faked(func(k harness.Case) harness.Verdict {
		if k.Containerd == "v2.3.7" && n.Add(1) == 3 {
			return left("task=none")
		}
		return held
	})})
	old, now := tab.Cells[Key{"b", "v2.3.7"}], tab.Cells[Key{"b", "v2.4.2"}]
	if old.Seen != Shown || old.Runs != 3 || now.Seen != Held || now.Runs != 9 {
		t.Errorf("%+v, %+v", old, now)
	}
	if !strings.Contains(tab.String(), "bad, 1/3") && !strings.Contains(tab.String(), "shown 1/3") {
		t.Errorf("%s", tab)
	}
}

func TestResume(t *testing.T) {
	dir, b := t.TempDir(), bug(t)
	var ran atomic.Int64
	e := faked(func(k harness.Case) harness.Verdict {
		ran.Add(1)
		if k.Containerd == "v2.3.7" {
			return left("task=none")
		}
		return held
	})
	m := Matrix{Bugs: []catalogue.Bug{b}, Engine: e, Dir: dir, Releases: []string{"v2.3.7"}}
	run(t, m)
	name := filepath.Join(dir, fileName)
	f, err := os.OpenFile(name, os.O_APPEND|os.O_WRONLY, 0)
	if err == nil {
		_, err = f.WriteString(`{"bug":"b","rel`) // a SIGKILL during a write
		err = errors.Join(err, f.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
	m.Releases = []string{"v2.3.7", "v2.4.2"}
	if tab := run(t, m); ran.Load() != 2 || tab.Kept != 1 || tab.Status() != 0 {
		t.Errorf("%d runs, %d kept: one each was due", ran.Load(), tab.Kept)
	}
	m.Bugs = []catalogue.Bug{bug(t, "1*crash", "1*panic")}
	if run(t, m); ran.Load() != 4 {
		t.Errorf("%d runs: the case has changed, so both cells were due", ran.Load())
	}
	m.Bugs = []catalogue.Bug{bug(t, "1*crash", "1*panic", "bad: v2.3.7", "bad: v2.3.6, fixed: v2.3.7")}
	if tab := run(t, m); ran.Load() != 4 || tab.Status() != 1 {
		t.Errorf(
			"%d runs, status %d: what the catalogue expects has changed, and nothing else",
			ran.Load(),
			tab.Status(),
		)
	}
}

// An invalid cell showed nothing, so the next run tries it again.
func TestInvalidCellsAreRunAgain(t *testing.T) {
	dir, b := t.TempDir(), bug(t)
	var ran atomic.Int64
	m := Matrix{Bugs: []catalogue.Bug{b}, Dir: dir, Releases: []string{"v2.4.2"},
		Engine: faked(func(harness.Case) harness.Verdict {
			if ran.Add(1) == 1 {
				return problem(harness.ByMiss)
			}
			return held
		})}
	if run(t, m).Status() != 3 || run(t, m).Status() != 0 || ran.Load() != 2 {
		t.Errorf("%d runs", ran.Load())
	}
}

func TestTwoOfOneFolder(t *testing.T) {
	dir := t.TempDir()
	j, _, _, err := open(dir)
	if err != nil {
		t.Fatal(err)
	}
	if _, _, _, err := open(dir); err == nil || !strings.Contains(err.Error(), "--out") {
		t.Errorf("%v, want what to do", err)
	}
	if err := j.Close(); err != nil {
		t.Error(err)
	}
	const text = `{"expected":"ok","seen":"held"}` + "\nnonsense\n"
	if err := os.WriteFile(filepath.Join(dir, fileName), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, _, _, err := open(dir); err == nil || !strings.Contains(err.Error(), "matrix.jsonl:2: ") {
		t.Errorf("%v, want the line", err)
	}
}

func TestInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	m := Matrix{Bugs: []catalogue.Bug{bug(t)}, Releases: []string{"v2.3.7"}, Dir: t.TempDir(),
		Engine: faked(func(harness.Case) harness.Verdict { cancel(); return held })}
	tab, err := m.Run(ctx)
	if !errors.Is(err, engine.ErrInterrupted) || len(tab.Cells) != 0 {
		t.Errorf("%v, %d cells: what a run showed that was ended is nothing", err, len(tab.Cells))
	}
}

func TestTableFits(t *testing.T) {
	tab := run(
		t,
		Matrix{Bugs: []catalogue.Bug{bug(t)}, Engine: faked(func(harness.Case) harness.Verdict { return held }),
			Releases: []string{"v1.6.36", "v1.7.35", "v2.0.14", "v2.1.9", "v2.2.9", "v2.3.7", "v2.4.0", "v2.4.2"}},
	)
	for line := range strings.Lines(tab.String()) {
		if n := utf8.RuneCountInString(line); n > width+1 {
			t.Errorf("%d columns: %s", n, line)
		}
	}
	text := tab.Markdown(time.Now())
	if !strings.Contains(text, "| [`b`](b.md) | ?, held |") {
		t.Errorf("%s", text)
	}
}

// An error while a cell is written ends the other cells: otherwise hours of them would be
// lost. A bug with its own releases runs on these alone, and its line names them.
func TestEachBugOnItsOwnReleases(t *testing.T) {
	one, two := bug(t), bug(t, "id: b", "id: c", "name: b", "name: c", "v2.4.0", "v2.4.1")
	of := map[string][]string{"b": one.Releases.Ends(), "c": two.Releases.Ends()}
	table := run(t, Matrix{Bugs: []catalogue.Bug{one, two}, Releases: []string{"v2.3.7", "v2.4.0", "v2.4.1"}, Of: of,
		Engine: faked(func(c harness.Case) harness.Verdict {
			if c.Containerd == "v2.3.7" {
				return left("task=none")
			}
			return held
		})})
	if len(table.Cells) != 4 || table.Status() != 0 {
		t.Errorf("%d cells, status %d", len(table.Cells), table.Status())
	}
	for _, want := range []string{
		"b   v2.3.7  bad, shown   v2.4.0  ok, held",
		"c   v2.3.7  bad, shown   v2.4.1  ok, held",
	} {
		if !strings.Contains(table.String(), want) {
			t.Errorf("no %q in\n%s", want, table)
		}
	}
}

func TestAFailedCellEndsTheOthers(t *testing.T) {
	histories, err := harness.OpenHistories(filepath.Join(t.TempDir(), harness.HistoriesFile))
	if err != nil {
		t.Fatal(err)
	}
	var ran atomic.Int64
	m := Matrix{Bugs: []catalogue.Bug{bug(t)}, Dir: t.TempDir(), Histories: histories,
		Releases: []string{"v1.7.35", "v2.0.14", "v2.1.9", "v2.2.9", "v2.3.7", "v2.4.2"},
		Engine: engine.New(fake(func(harness.Case) harness.Verdict {
			if ran.Add(1) == 1 {
				if err := histories.Close(); err != nil { // no history can be kept any more
					t.Error(err)
				}
			}
			v := held
			v.History = &harness.History{}
			return v
		}), 1)}
	if _, err := m.Run(t.Context()); err == nil || errors.Is(err, engine.ErrInterrupted) || ran.Load() != 1 {
		t.Errorf("%d cells ran; %v", ran.Load(), err)
	}
}

// An incomplete history that a killed matrix has left is removed before the next
// history is written.
func TestATornHistoryIsCutOff(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, harness.HistoriesFile)
	if err := os.WriteFile(name, []byte("torn"), 0o600); err != nil {
		t.Fatal(err)
	}
	histories, err := harness.OpenHistories(name)
	if err != nil {
		t.Fatal(err)
	}
	run(t, Matrix{Bugs: []catalogue.Bug{bug(t)}, Dir: dir, Releases: []string{"v2.4.2"}, Histories: histories,
		Engine: faked(func(harness.Case) harness.Verdict { return held })})
	if text, err := os.ReadFile(name); err != nil || strings.Contains(string(text), "torn") {
		t.Errorf("%q, %v", text, err)
	}
}
