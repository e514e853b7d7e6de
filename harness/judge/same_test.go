package judge

import (
	"testing"

	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/oracle/fact"
	"github.com/shimquake/shimquake/oracle/finding"
)

func TestSame(t *testing.T) {
	verdict := func(o harness.Outcome, found ...finding.Finding) harness.Verdict {
		return harness.Verdict{Outcome: o, Findings: found}
	}
	shim := finding.Finding{Class: finding.ClassShim, Facts: fact.Facts{fact.Task: fact.None}}
	known := finding.Finding{Class: finding.ClassSocket, Known: "containerd-11292", Because: "a SIGKILLed shim leaves it"}
	kept := known
	kept.Because = ""
	unknown := known
	unknown.Known = ""
	for name, tc := range map[string]struct {
		a, b harness.Verdict
		want bool
	}{
		"in another order":       {verdict(harness.Violated, shim, known), verdict(harness.Violated, known, shim), true},
		"kept without its words": {verdict(harness.Violated, known), verdict(harness.Violated, kept), true},
		"no longer known":        {verdict(harness.Held, known), verdict(harness.Held, unknown), false},
		"another outcome":        {verdict(harness.Held), verdict(harness.Violated), false},
		"one finding more":       {verdict(harness.Violated, shim), verdict(harness.Violated, shim, known), false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := Same(tc.a, tc.b); got != tc.want {
				t.Errorf("Same is %v, want %v", got, tc.want)
			}
			if got := Same(tc.b, tc.a); got != tc.want {
				t.Errorf("Same the other way round is %v, want %v", got, tc.want)
			}
		})
	}
}
