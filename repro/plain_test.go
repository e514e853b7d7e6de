package repro

import (
	"slices"
	"strings"
	"testing"

	"github.com/shimquake/shimquake/catalogue"
	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/harness/plain"
	"github.com/shimquake/shimquake/oracle/finding"
	"github.com/shimquake/shimquake/repro/read"
)

// The remains of a run without a fault are compared with the report, like the remains
// of a bug.
func TestPlain(t *testing.T) {
	const orphan = "root 7 1 0 1:00 ? 0:00 /usr/bin/containerd-shim-runc-v2 -namespace a -id x -address y\n" +
		"# ctr -n a t ls\nTASK PID STATUS\n"
	left := func(matches ...string) harness.Verdict {
		v := harness.Verdict{Outcome: harness.Violated, Case: harness.Case{Name: "plain-exit"}}
		for _, m := range finding.MustMatches(matches...) {
			v.Findings = append(v.Findings, finding.Finding{Invariant: finding.Leak, Class: m.Class, Facts: m.Facts})
		}
		return v
	}
	invalid := harness.Verdict{Outcome: harness.Invalid,
		Problems: []harness.Problem{{Kind: harness.ByMachine, Text: "no disk"}}}
	for name, tt := range map[string]struct {
		report string
		v      harness.Verdict
		like   bool
		head   string
	}{
		"it leaves the reported symptom": {orphan, left("shim task=none bundle=gone"), true,
			"SHOWN WITHOUT A FAULT on v2.3.7: plain-exit"},
		"it leaves something else":       {orphan, left("lease"), false, "leaves none"},
		"it holds":                       {orphan, harness.Verdict{Outcome: harness.Held}, false, "leaves none"},
		"it shows nothing":               {orphan, invalid, false, "leaves none"},
		"no symptom, and it leaves some": {"hello\n", left("lease"), false, "leaves none"},
	} {
		r := read.Text(tt.report)
		bugs := catalogue.BySeverity()
		bugs = append(bugs, bugs[slices.IndexFunc(bugs, func(b catalogue.Bug) bool { return b.ID == "containerd-8981" })])
		bugs[len(bugs)-1].ID, bugs[len(bugs)-1].Cases = "without-a-fault", []harness.Case{{}}
		a := Match(r, Options{Bugs: bugs, Containerd: "v2.3.7"})
		p := a.plainOf(tt.v, r)
		a.Plain = []Plain{p}
		if p.Like != tt.like || (a.Status() == 1) != tt.like || !strings.Contains(a.String(), tt.head) {
			t.Errorf("%s: like %v, status %d\n%s", name, p.Like, a.Status(), a)
		}
		if tt.like && !slices.Equal(p.Known, []string{"without-a-fault"}) {
			t.Errorf("%s: want only the bug of that release that needs no fault, got %v", name, p.Known)
		}
	}
}

func TestPlainCasesAreThere(t *testing.T) {
	for _, name := range plainCases {
		if !slices.ContainsFunc(plain.Cases(), func(c harness.Case) bool { return c.Name == name }) {
			t.Errorf("there is no case %s", name)
		}
	}
}
