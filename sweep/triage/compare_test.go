package triage

import (
	"errors"
	"strings"
	"testing"

	"github.com/shimquake/shimquake/catalogue"
	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/oracle/fact"
	"github.com/shimquake/shimquake/oracle/finding"
	"github.com/shimquake/shimquake/sweep/journal"
	"github.com/shimquake/shimquake/sweep/plan"
)

// miss is the reason of a case whose fault did not happen.
var miss = []harness.ProblemKind{harness.ByMiss}

// TestCompare has a case of each kind: the same result, another outcome, another finding,
// another reason, and only one sweep with the case.
func TestCompare(t *testing.T) {
	points := []string{start + "a", start + "b", start + "c", start + "d", start + "e", start + "f"}
	a, j := sweepOf(t, plan.Shard{I: 1, Of: 1}, points...)
	b, k := sweepOf(t, plan.Shard{I: 1, Of: 1}, points...)
	put := func(j *journal.Journal, results ...journal.Result) {
		t.Helper()
		for _, r := range results {
			if err := j.Add(&r); err != nil {
				t.Fatal(err)
			}
		}
	}
	left := shimLeft(4, "c0")
	put(j,
		journal.Result{I: 0, Outcome: harness.Violated, Found: left},
		journal.Result{I: 1, Outcome: harness.Held},
		journal.Result{I: 2, Outcome: harness.Violated, Found: left},
		journal.Result{I: 3, Outcome: harness.Invalid, Why: "its pid 17 had ended", Problems: miss},
		journal.Result{I: 4, Outcome: harness.Invalid, Why: "was not hit", Problems: miss},
		journal.Result{I: 5, Outcome: harness.Held})
	put(k,
		journal.Result{I: 0, Outcome: harness.Violated, Found: shimLeft(99, "c0")},
		journal.Result{I: 1, Outcome: harness.Violated, Found: left},
		journal.Result{I: 2, Outcome: harness.Violated, Found: left[:1]},
		journal.Result{I: 3, Outcome: harness.Invalid, Why: "its pid 4711 had ended", Problems: miss},
		journal.Result{I: 4, Outcome: harness.Invalid, Why: "it does not boot",
			Problems: []harness.ProblemKind{harness.ByBoot}})
	c, err := Compare(a, []string{b}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if c.Cases != 5 || c.OnlyA != 1 || c.OnlyB != 0 || c.Agreed[harness.Violated] != 1 ||
		c.Agreed[harness.Invalid] != 1 ||
		len(c.Differ) != 3 {
		t.Fatalf("%+v", c)
	}
	if d := c.Differ[0]; len(d.A.Only) != 0 || len(d.B.Only) != 3 {
		t.Errorf("another outcome: %+v", d)
	}
	if d := c.Differ[1]; len(d.A.Only) != 2 || len(d.B.Only) != 0 {
		t.Errorf("another finding: %+v", d)
	}
	if text := c.String(); !strings.Contains(
		text,
		"5 cases in both: 2 agree (0 held, 1 violated, 1 invalid), 0 differ by known races, "+
			"0 are invalid in one sweep, 3 differ; 1 are only in A",
	) ||
		!strings.Contains(text, "it does not boot") {
		t.Error(text)
	}
}

// A known bug that is no race is reliable in its own case only. A few cases that are
// invalid on one side prove nothing, and many prove that the machine cannot run them.
func TestCompareByChance(t *testing.T) {
	plain := func(t *testing.T) catalogue.Excuse { return known(t) }
	race := func(t *testing.T) catalogue.Excuse { k := known(t); k.Sometimes = true; return k }
	many := make([]string, 12)
	for i := range many {
		many[i] = start + string(rune('a'+i))
	}
	wrong := []finding.Finding{wrongExit(fact.MadeUp0, "wait")}
	for name, tc := range map[string]struct {
		known    func(*testing.T) catalogue.Excuse
		at       int
		found    []finding.Finding
		invalid  int
		raced    int
		differ   int
		agreeing bool
	}{
		"its own case":               {known: plain, at: 0, found: shimLeft(1, "c0"), differ: 1},
		"its own case, of a race":    {known: race, at: 0, found: shimLeft(1, "c0"), raced: 1, agreeing: true},
		"elsewhere in its window":    {known: plain, at: 1, found: shimLeft(1, "c0"), raced: 1, agreeing: true},
		"what it does not leave":     {known: race, at: 1, found: wrong, differ: 1},
		"that beside what it leaves": {known: race, at: 1, found: append(shimLeft(1, "c0"), wrong...), differ: 1},
		"nothing shown once":         {known: race, at: -1, invalid: 1, agreeing: true},
		"nothing shown twice":        {known: race, at: -1, invalid: 2},
	} {
		t.Run(name, func(t *testing.T) {
			a, j := sweepOf(t, plan.Shard{I: 1, Of: 1}, many...)
			b, k := sweepOf(t, plan.Shard{I: 1, Of: 1}, many...)
			for i := range many {
				x := journal.Result{I: i, Outcome: harness.Held}
				y := x
				if i == tc.at {
					y.Outcome, y.Found = harness.Violated, tc.found
				}
				if i < tc.invalid {
					y.Outcome, y.Problems = harness.Invalid, miss
				}
				if err := errors.Join(j.Add(&x), k.Add(&y)); err != nil {
					t.Fatal(err)
				}
			}
			c, err := Compare(a, []string{b}, []catalogue.Excuse{tc.known(t)})
			if err != nil {
				t.Fatal(err)
			}
			if len(c.Raced) != tc.raced || len(c.Differ) != tc.differ || len(c.OneSided) != tc.invalid ||
				c.Agree() != tc.agreeing {
				t.Errorf("agree %v, %s", c.Agree(), c)
			}
		})
	}
}

func TestCompareRefuses(t *testing.T) {
	a, j := sweepOf(t, plan.Shard{I: 1, Of: 2}, start+"a", start+"b")
	b, k := sweepOf(t, plan.Shard{I: 2, Of: 2}, start+"a", start+"b")
	other, _ := sweepOf(t, plan.Shard{I: 1, Of: 1}, start+"c")
	held := func(i int) *journal.Result { return &journal.Result{I: i, Outcome: harness.Held} }
	if err := errors.Join(j.Add(held(0)), k.Add(held(1))); err != nil {
		t.Fatal(err)
	}
	if _, err := Compare(a, []string{b}, nil); !errors.Is(err, errNothingToCompare) {
		t.Errorf("two halves of a plan were compared: %v", err)
	}
	if _, err := Compare(a, []string{other}, nil); err == nil || !strings.Contains(err.Error(), "another plan") {
		t.Errorf("two plans were compared: %v", err)
	}
}

// sweepOf begins the journal of a sweep of these points.
func sweepOf(t *testing.T, shard plan.Shard, points ...string) (string, *journal.Journal) {
	t.Helper()
	h := headOf(planOf(points...).WithDigest())
	h.Shard = shard
	dir := t.TempDir()
	j, err := journal.Create(dir, h)
	if err != nil {
		t.Fatal(err)
	}
	return dir, j
}
