package main

import (
	"testing"
	"time"

	"github.com/shimquake/shimquake/bisect"
	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/must"
	"github.com/shimquake/shimquake/oracle/finding"
	"github.com/shimquake/shimquake/oracle/rate"
)

func violated(texts ...string) harness.Verdict {
	v := harness.Verdict{Outcome: harness.Violated, Version: "v1.7.2"}
	for _, m := range finding.MustMatches(texts...) {
		v.Findings = append(v.Findings, finding.Finding{Invariant: finding.Leak, Class: m.Class, Facts: m.Facts})
	}
	return v
}

func TestOutcomeOf(t *testing.T) {
	shim := finding.MustMatches("shim task=none")
	for _, tt := range []struct {
		v    harness.Verdict
		by   []finding.Match
		want bisect.Outcome
	}{
		{harness.Verdict{Outcome: harness.Held}, shim, bisect.Held},
		{harness.Verdict{Outcome: harness.Invalid}, shim, bisect.Invalid},
		{violated("shim task=none bundle=gone", "mount"), shim, bisect.Bug},
		{violated("mount"), shim, bisect.Other},
		{violated("mount"), nil, bisect.Bug},
	} {
		must.Equal(t, outcomeOf(tt.v, tt.by), tt.want, tt.v.Findings, tt.by)
	}
}

// Without given findings, the bug is the finding that most runs at the bad end share. A
// race that appeared once is no part of it, nor of its odds.
func TestLearn(t *testing.T) {
	runs := []harness.Verdict{violated("shim task=none"), violated("shim task=none", "mount"), violated("mount"),
		violated("shim task=none"), {Outcome: harness.Held}, {Outcome: harness.Invalid}}
	tr := trials{measured: runs}
	odds := tr.learn(bisect.Tally{bisect.Bug: 4, bisect.Held: 1, bisect.Invalid: 1})
	if len(tr.by) != 1 || tr.by[0].String() != "shim task=none" || odds != (rate.Odds{Shown: 3, Runs: 5}) {
		t.Errorf("looks for %v, odds %+v", tr.by, odds)
	}
}

func TestDeclared(t *testing.T) {
	c := harness.Case{Bugs: []string{"containerd-7496"}}
	if by := declared(c, "v1.7.3"); len(by) != 1 {
		t.Errorf("%v", by)
	}
	if by := declared(c, "v1.7.4"); by != nil {
		t.Errorf("%v of a release that is not known to be bad", by)
	}
}

func TestBisectAnswer(t *testing.T) {
	tr := trials{
		c: harness.Case{Name: "umount-delayed"}, by: finding.MustMatches("shim"), flags: &bisectFlags{confidence: 0.99},
		row: revisions{names: []string{"v1.7.2", "v1.7.3", "v1.7.4", "v1.7.5"}, oldIsBad: true, note: "a note"},
	}
	a := tr.answer(bisect.Result{
		Last: "v1.7.2", First: "v1.7.4", Between: []string{"v1.7.3"},
		Odds: rate.Odds{Shown: 12, Runs: 12}, Need: 8, Confidence: 0.99456,
		Trials: []bisect.Trial{{Revision: "v1.7.2", Mark: bisect.Bad, Tally: bisect.Tally{bisect.Bug: 12}},
			{Revision: "v1.7.5", Mark: bisect.Good, Tally: bisect.Tally{bisect.Held: 8, bisect.Invalid: 1}},
			{Revision: "v1.7.3", Mark: bisect.Skip, Why: "no such release\nmore"}},
	}, 90*time.Second)
	want := `first fixed: v1.7.4, or one of these untested revisions: v1.7.3 (after v1.7.2)
the bug: shim
  bad   v1.7.2: 12 of 12 runs violated
  good  v1.7.5: 8 of 9 runs held, 1 invalid
  skip  v1.7.3: no such release
ran 2 of 4 revisions, 21 runs, in 1m30s
the bad end had the bug in 12 of 12 runs; a good revision held 8 times
confidence: 99.45 %, if the odds are the same in the whole range
a note
`
	must.Equal(t, a.String(), want)
}
