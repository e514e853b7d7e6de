package triage

import (
	"strings"
	"testing"

	"github.com/shimquake/shimquake/catalogue"
	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/oracle/fact"
	"github.com/shimquake/shimquake/oracle/finding"
	"github.com/shimquake/shimquake/oracle/rate"
	"github.com/shimquake/shimquake/sweep/journal"
)

// A finding that 20 replays do not reproduce is reported, and is no reason to fail. Fewer
// replays show nothing, and a cluster of many cases is reproduced by the sweep itself.
func TestNotReproduced(t *testing.T) {
	p := planOf(start+"a", start+"b", start+"c", start+"d")
	left := shimLeft(1, "c0")
	for name, c := range map[string]struct {
		shown  *Shown
		cases  int
		status int
	}{
		"not replayed":               {nil, 1, 1},
		"never again":                {&Shown{Replays: 20}, 1, 0},
		"never again, of four cases": {&Shown{Replays: 20}, 4, 1},
		"once again":                 {&Shown{Replays: 20, Same: 1}, 1, 1},
		"replayed a few times":       {&Shown{Replays: 3}, 1, 1},
	} {
		found := make([][]finding.Finding, 4)
		for i := range c.cases {
			found[i] = left
		}
		r := report(p, nil, found...)
		r.New[0].Shown = c.shown
		text := r.String()
		if r.Status() != c.status || strings.Contains(text, "NOT REPRODUCED") != (c.status == 0) {
			t.Errorf("%s: status %d, want %d\n%s", name, r.Status(), c.status, text)
		}
		if c.status == 0 && !strings.Contains(text, "fewer than 14 %") {
			t.Errorf("%s: its odds are not reported:\n%s", name, text)
		}
	}
}

// A residue that occurs every time is no race.
func TestResiduesThatComeEachTime(t *testing.T) {
	p := planOf(start+"a", start+"b")
	for left, want := range map[int]int{0: 0, 10: 0, 20: 1} {
		r := NewReport(headOf(p), []journal.Result{
			{I: 0, Outcome: harness.Held, Residues: []rate.Count{{ID: "x", Left: left, Of: 20, Most: 0.5}}},
			{I: 1, Outcome: harness.Held, Residues: []rate.Count{{ID: "x", Left: left, Of: 20, Most: 0.5}}},
		}, nil)
		if r.Status() != want || strings.Contains(r.String(), "NEW: residue x") != (want == 1) {
			t.Errorf("%d of 20: status %d, want %d\n%s", left, r.Status(), want, r)
		}
	}
}

// The order of a case's symptoms decides neither whether it is known nor its cluster.
func TestTheOrderOfSymptomsDoesNotMatter(t *testing.T) {
	k := known(t, "  - shim task=none", "  - container what=removal")
	removal := finding.Finding{Invariant: finding.Liveness, Class: finding.ClassContainer,
		Facts: fact.Facts{fact.What: fact.Removal}}
	shim := shimLeft(1, "c0")[0]
	cgroup := finding.Finding{Invariant: finding.Leak, Class: finding.ClassCgroup, Subject: finding.Subject{ID: "c9"}}
	p := planOf(start+"a", start+"b", start+"c")
	for _, order := range [][]finding.Finding{{removal, shim}, {shim, removal}} {
		r := report(p, []catalogue.Excuse{k}, order, []finding.Finding{removal}, nil)
		if len(r.Known) != 1 || r.Known[0].Cases != 2 || len(r.New) != 1 || r.New[0].Cases != 1 {
			t.Errorf("%v:\n%s", order, r)
		}
	}
	r := report(p, nil, []finding.Finding{shim}, []finding.Finding{cgroup, shim}, []finding.Finding{cgroup})
	if r.New[0].Cases+r.New[len(r.New)-1].Cases < 3 || len(r.New) > 2 {
		t.Errorf("%d clusters:\n%s", len(r.New), r)
	}
	c := Cluster{Left: []Signature{signatureOf(cgroup), signatureOf(shim)}}
	for _, f := range []finding.Finding{cgroup, shim} {
		if !c.ShownBy(harness.Verdict{Outcome: harness.Violated, Findings: []finding.Finding{f}}) {
			t.Errorf("a run that leaves only %v does not show the cluster", f)
		}
	}
}

// A known leak of one container excuses no finding of another container, and none with
// another cause.
func TestKnownExcusesNothingOfOthers(t *testing.T) {
	k := known(t)
	shim := shimLeft(1, "c0")[0]
	own := finding.Finding{Invariant: finding.Leak, Class: finding.ClassMount, Subject: finding.Subject{ID: "c0"}}
	other := own
	other.Subject.ID = "c1"
	for _, c := range []struct {
		with  finding.Finding
		fresh int
	}{{own, 0}, {other, 1}, {wrongExit(fact.MadeUp255, "cri-status"), 1}} {
		r := report(planOf(start+"a"), []catalogue.Excuse{k}, []finding.Finding{shim, c.with})
		if len(r.New) != c.fresh || len(r.Known) != 1 {
			t.Errorf("%v beside the shim: %d new, want %d\n%s", c.with.Class, len(r.New), c.fresh, r)
		}
	}
	panicked := finding.Finding{Invariant: finding.Liveness, Class: finding.ClassDaemon,
		Facts: fact.Facts{fact.What: fact.Death, fact.Exit: "2"}}
	ends := known(t, "  - shim task=none", "  - containerd what=death exit=1")
	if r := report(planOf(start+"a"), []catalogue.Excuse{ends}, []finding.Finding{panicked}); len(r.New) != 1 {
		t.Errorf("a panic is taken for an end with 1:\n%s", r)
	}
}
