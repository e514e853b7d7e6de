package harness

import (
	"strings"
	"testing"

	"github.com/shimquake/shimquake/oracle/exit"
)

// An exit of which nobody heard is not one that everybody reported right.
func TestVerdictSaysThatNobodyReported(t *testing.T) {
	v := Verdict{Truths: []exit.Truth{{Container: "c0", Status: 7, Source: "its own record"}}}
	if s := v.String(); !strings.Contains(s, "reported: by nobody") {
		t.Error(s)
	}
}

// A run that was ended says how far it came, from each stage.
func TestVerdictSaysHowFarItCame(t *testing.T) {
	for _, s := range []Stage{NotBegun, Prepared, Booted, Underway, Removed, LookedAt, Completed} {
		v := Verdict{Problems: []Problem{{Kind: ByEnd, Text: "the run was ended"}}, History: &History{Reached: s}}
		if said := v.String(); stageWords[s] == "" || !strings.Contains(said, "came:  "+stageWords[s]+"\n") {
			t.Errorf("%q: %s", s, said)
		}
	}
	if v := (Verdict{History: &History{}}); strings.Contains(v.String(), "came:") {
		t.Error("it was not ended:", v)
	}
}
