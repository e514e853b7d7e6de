package judge

import (
	"strings"
	"testing"

	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/oracle/fact"
)

// row is a change of the clean history, and the expected judgement. That is INVARIANT
// CLASS FACTS of a finding, the kind of a problem, or "" if the case holds.
type row struct {
	change func(*harness.History)
	want   string
}

func judged(t *testing.T, rows map[string]row) {
	t.Helper()
	for name, tc := range rows {
		t.Run(name, func(t *testing.T) {
			h := clean()
			tc.change(&h)
			v := Judge(h, catalogued)
			if got := says(v, tc.want); got != "" {
				t.Errorf("%s; want %q\n%s", got, tc.want, v)
			}
		})
	}
}

// says compares a verdict with the expectation of a row.
func says(v harness.Verdict, want string) string {
	id, known := strings.CutPrefix(want, "known ")
	words := strings.Fields(want)
	switch {
	case want == "" || known || strings.HasPrefix(want, "residue"):
		if v.Outcome != harness.Held {
			return "it did not hold"
		}
	case len(words) == 1:
		if v.Outcome != harness.Invalid || !v.HasProblem(harness.ProblemKind(want)) {
			return "it has no such problem"
		}
		return ""
	case v.Outcome != harness.Violated:
		return "it is not violated"
	}
	for _, f := range v.Findings {
		if known && f.Known == id {
			return ""
		}
		if len(words) > 1 && !known {
			fs, err := fact.ParseAll(words[2:])
			if err != nil {
				return err.Error()
			}
			if string(f.Invariant) == words[0] && string(f.Class) == words[1] && f.Facts.Has(fs) {
				return ""
			}
		}
	}
	if want == "" {
		return ""
	}
	return "it has no such finding"
}
