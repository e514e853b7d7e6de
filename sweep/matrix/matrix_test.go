package matrix

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/shimquake/shimquake/catalogue"
	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/must"
	"github.com/shimquake/shimquake/oracle/affected"
	"github.com/shimquake/shimquake/oracle/fact"
	"github.com/shimquake/shimquake/oracle/finding"
	"github.com/shimquake/shimquake/oracle/rate"
	"github.com/shimquake/shimquake/sweep/engine"
	"github.com/shimquake/shimquake/sweep/journal"
	"github.com/shimquake/shimquake/sweep/plan"
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

// allHeld is an engine whose runs all hold.
var allHeld = faked(func(harness.Case) harness.Verdict { return held })

// known returns a bug of the catalogue, whose case a journal can name. It leaks a shim on
// 2.3, and is fixed in 2.4.
func known(t *testing.T) catalogue.Bug {
	t.Helper()
	b := must.Get(catalogue.FindBug("containerd-8981"))(t)
	b.Cases, b.Odds = b.Cases[:1], rate.Odds{Shown: 20, Runs: 20}
	return b
}

// bug returns a bug that leaks a shim on 2.3, and is fixed in 2.4.
func bug(t *testing.T, edit ...string) catalogue.Bug {
	t.Helper()
	b := must.Get(catalogue.ParseBug("b.yaml", []byte(strings.NewReplacer(edit...).Replace(`id: b
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
`))))(t)
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
	return must.Get(m.Run(t.Context()))(t)
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
	tab := run(t, Matrix{Bugs: []catalogue.Bug{b}, Releases: []string{"v2.3.7"},
		Engine: faked(func(k harness.Case) harness.Verdict {
			if k.Name == "first" {
				return problem(harness.ByInput)
			}
			return left("task=none")
		})})
	c := tab.Cells[Key{"b", "v2.3.7"}]
	if c.Seen != Shown || c.Case != "b" || c.Runs != 1 || len(c.Histories) != 1 {
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
		must.Equal(t, tab.word(b, "v2.3.7"), want, "alone", alone)
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
	dir, b := t.TempDir(), known(t)
	var ran atomic.Int64
	e := faked(func(k harness.Case) harness.Verdict {
		ran.Add(1)
		if k.Containerd == "v2.3.7" {
			return left("task=none", "bundle=gone")
		}
		return held
	})
	m := Matrix{Bugs: []catalogue.Bug{b}, Engine: e, Dir: dir, Releases: []string{"v2.3.7"}}
	run1 := run(t, m)
	must.Edit(t, filepath.Join(dir, "journal.jsonl"), func(text string) string {
		return text + `{"case":0,"on":"v2.` // a SIGKILL during a write
	})
	m.Releases = []string{"v2.3.7", "v2.4.2"}
	if tab := run(t, m); ran.Load() != 2 || tab.Kept != 1 || tab.Status() != 0 || run1.Status() != 0 {
		t.Errorf("%d runs, %d kept: one each was due\n%s", ran.Load(), tab.Kept, tab)
	}
	if m.Runs = 3; run(t, m).Status() != 0 || ran.Load() != 4 {
		t.Errorf("%d runs: the cell that held lacked two", ran.Load())
	}
	m.Bugs[0].Releases = affected.Releases{"2.3": {Bad: "v2.3.6", Fixed: "v2.3.7"}}
	if tab := run(t, m); ran.Load() != 6 || tab.Status() != 1 {
		t.Errorf("%d runs, status %d: what the catalogue expects has changed", ran.Load(), tab.Status())
	}
	h, all, err := journal.Read(dir)
	must.Succeed(t, err)
	tab := TableOf(h, all)
	if len(tab.Bugs) != 1 || strings.Join(tab.Releases, " ") != "v2.3.7 v2.4.2" ||
		tab.word(b, "v2.3.7") != "bad, shown" || tab.word(b, "v2.4.2") != "ok, held" {
		t.Errorf("the table of the journal: %s", tab)
	}
}

// An invalid cell showed nothing, so the next run tries it again.
func TestInvalidCellsAreRunAgain(t *testing.T) {
	dir, b := t.TempDir(), known(t)
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

func TestAFolderOfAnother(t *testing.T) {
	dir := t.TempDir()
	m := Matrix{Bugs: []catalogue.Bug{known(t)}, Dir: dir, Releases: []string{"v2.4.2"}, Engine: allHeld}
	j, _, _, err := m.open()
	must.Succeed(t, err)
	must.FailWith(t, must.ErrorOf(m.Run(t.Context())), "--out")
	must.Succeed(t, j.Close())
	m.Dir = t.TempDir()
	j, err = journal.Create(m.Dir, journal.Head{Plan: plan.Plan{}.WithDigest()})
	if err = errors.Join(err, j.Close()); err != nil {
		t.Fatal(err)
	}
	must.FailWith(t, must.ErrorOf(m.Run(t.Context())), "has a sweep", "a sweep's folder")
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
	must.Contain(t, text, "| [`b`](b.md) | ?, held |")
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
	must.Equal(t, len(table.Cells), 4, "cells, status")
	must.Equal(t, table.Status(), 0, "cells, status")
	for _, want := range []string{
		"b   v2.3.7  bad, shown   v2.4.0  ok, held",
		"c   v2.3.7  bad, shown   v2.4.1  ok, held",
	} {
		must.Contain(t, table.String(), want)
	}
}

// Another build judges the runs again, but not if the case has changed in the
// catalogue. A matrix is no sweep.
func TestJournalOfAnotherBuild(t *testing.T) {
	dir, b := t.TempDir(), known(t)
	m := Matrix{Bugs: []catalogue.Bug{b}, Dir: dir, Releases: []string{"v2.3.7", "v2.4.2"},
		Engine: faked(func(k harness.Case) harness.Verdict {
			if k.Containerd == "v2.3.7" {
				k.Workload.Settle++
			}
			return harness.Verdict{Outcome: harness.Held, History: &harness.History{Case: k}}
		})}
	run(t, m)
	must.Edit(t, filepath.Join(dir, "journal.jsonl"), func(text string) string {
		return strings.Replace(text, `"build":"`, `"build":"another `, 1)
	})
	_, all, err := journal.Read(dir)
	if err != nil || len(all) != 1 || all[0].On != "v2.4.2" || all[0].Outcome != harness.Invalid {
		t.Errorf("%+v, %v", all, err)
	}
	if _, _, err := journal.Merge([]string{dir}); err == nil || !strings.Contains(err.Error(), "has a matrix") {
		t.Errorf("merged: %v", err)
	}
}
