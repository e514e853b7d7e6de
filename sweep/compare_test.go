package sweep

import (
	"errors"
	"strings"
	"testing"

	"github.com/shimquake/shimquake/harness"
)

// TestCompare has a case of each kind: the same, another outcome, another finding, another reason, and one that only A ran.
func TestCompare(t *testing.T) {
	a, j, _ := begun(t, 6, Shard{1, 1})
	b, k, _ := begun(t, 6, Shard{1, 1})
	put := func(j *Journal, results ...Result) {
		t.Helper()
		for _, r := range results {
			if err := j.Add(r); err != nil {
				t.Fatal(err)
			}
		}
	}
	left := shimLeft(4, "c0")
	put(j,
		Result{I: 0, Outcome: harness.Violated, Found: left},
		Result{I: 1, Outcome: harness.Held},
		Result{I: 2, Outcome: harness.Violated, Found: left},
		Result{I: 3, Outcome: harness.Invalid, Why: "its pid 17 had ended"},
		Result{I: 4, Outcome: harness.Invalid, Why: "was not hit"},
		Result{I: 5, Outcome: harness.Held})
	put(k,
		Result{I: 0, Outcome: harness.Violated, Found: shimLeft(99, "c0")},
		Result{I: 1, Outcome: harness.Violated, Found: left},
		Result{I: 2, Outcome: harness.Violated, Found: left[:1]},
		Result{I: 3, Outcome: harness.Invalid, Why: "its pid 4711 had ended"},
		Result{I: 4, Outcome: harness.Invalid, Why: "the machine has no such controller"})
	c, err := Compare(a, []string{b})
	if err != nil {
		t.Fatal(err)
	}
	if c.Cases != 5 || c.OnlyA != 1 || c.OnlyB != 0 || c.Agreed[harness.Violated] != 1 || c.Agreed[harness.Invalid] != 1 || len(c.Differ) != 3 {
		t.Fatalf("%+v", c)
	}
	if d := c.Differ[0]; len(d.A.Only) != 0 || len(d.B.Only) != 3 {
		t.Errorf("another outcome: %+v", d)
	}
	if d := c.Differ[1]; len(d.A.Only) != 2 || len(d.B.Only) != 0 {
		t.Errorf("another finding: %+v", d)
	}
	if text := c.String(); !strings.Contains(text, "5 cases in both: 2 agree (0 held, 1 violated, 1 invalid), 3 differ; 1 are only in A") ||
		!strings.Contains(text, "the machine has no such controller") {
		t.Error(text)
	}
}

func TestCompareRefuses(t *testing.T) {
	a, j, _ := begun(t, 2, Shard{1, 2})
	b, k, _ := begun(t, 2, Shard{2, 2})
	other, _, _ := begun(t, 3, Shard{1, 1})
	add(t, j, 0)
	add(t, k, 1)
	if _, err := Compare(a, []string{b}); !errors.Is(err, ErrNothingToCompare) {
		t.Errorf("two halves of a plan were compared: %v", err)
	}
	if _, err := Compare(a, []string{other}); err == nil || !strings.Contains(err.Error(), "another plan") {
		t.Errorf("two plans were compared: %v", err)
	}
}
