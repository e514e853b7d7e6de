package triage

import (
	"errors"
	"strings"
	"testing"

	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/sweep/journal"
	"github.com/shimquake/shimquake/sweep/plan"
)

// TestCompare has a case of each kind: the same, another outcome, another finding,
// another reason, and one that only A ran.
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
		journal.Result{I: 3, Outcome: harness.Invalid, Why: "its pid 17 had ended"},
		journal.Result{I: 4, Outcome: harness.Invalid, Why: "was not hit"},
		journal.Result{I: 5, Outcome: harness.Held})
	put(k,
		journal.Result{I: 0, Outcome: harness.Violated, Found: shimLeft(99, "c0")},
		journal.Result{I: 1, Outcome: harness.Violated, Found: left},
		journal.Result{I: 2, Outcome: harness.Violated, Found: left[:1]},
		journal.Result{I: 3, Outcome: harness.Invalid, Why: "its pid 4711 had ended"},
		journal.Result{I: 4, Outcome: harness.Invalid, Why: "the machine has no such controller"})
	c, err := Compare(a, []string{b})
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
		"5 cases in both: 2 agree (0 held, 1 violated, 1 invalid), 3 differ; 1 are only in A",
	) ||
		!strings.Contains(text, "the machine has no such controller") {
		t.Error(text)
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
	if _, err := Compare(a, []string{b}); !errors.Is(err, ErrNothingToCompare) {
		t.Errorf("two halves of a plan were compared: %v", err)
	}
	if _, err := Compare(a, []string{other}); err == nil || !strings.Contains(err.Error(), "another plan") {
		t.Errorf("two plans were compared: %v", err)
	}
}

// sweepOf begins the journal of a sweep of these points.
func sweepOf(t *testing.T, shard plan.Shard, points ...string) (string, *journal.Journal) {
	t.Helper()
	h := headOf(planOf(points...).Sealed())
	h.Shard = shard
	dir := t.TempDir()
	j, err := journal.Create(dir, h)
	if err != nil {
		t.Fatal(err)
	}
	return dir, j
}
