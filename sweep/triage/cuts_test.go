package triage

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/shimquake/shimquake/catalogue"
	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/oracle/fact"
	"github.com/shimquake/shimquake/oracle/finding"
	"github.com/shimquake/shimquake/sweep/journal"
	"github.com/shimquake/shimquake/sweep/plan"
)

// The report about a case does not depend on the other cases of the sweep. Each cut of
// one outcome's plan, by one option and by two, reports the same about its cases as the
// whole.
func TestACutSaysWhatTheWholeSays(t *testing.T) {
	p := defaultPlan(t)
	known := slices.DeleteFunc(slices.Clone(catalogue.Excuses()), func(k catalogue.Excuse) bool {
		return !k.Applies(p.Version)
	})
	// Each case of a known finding shows it, except for one; and one of another case is
	// new.
	var specs []plan.Spec
	var found [][]finding.Finding
	odd, without := -1, -1
	for _, s := range p.Specs {
		var left []finding.Finding
		owned := false
		for _, k := range known {
			if !among(k.Workloads, s.Workload) || !covers(s, k.Case) {
				continue
			}
			owned = true
			if without < 0 && !k.Sometimes {
				without = len(specs)
				break
			}
			left = append(left, finding.Finding{Class: k.Match[0].Class, Facts: k.Match[0].Facts})
		}
		if !owned && odd < 0 {
			owned, odd = true, len(specs)
			left = []finding.Finding{{Class: finding.ClassShim, Facts: fact.Facts{fact.Task: "no-such-thing"}}}
		}
		if owned {
			specs, found = append(specs, s), append(found, left)
		}
	}
	if len(specs) < 30 || odd < 0 || without < 0 {
		t.Fatalf("the plan has %d cases of known findings, a new one %d, one gone %d", len(specs), odd, without)
	}
	p.Specs, p.Options = specs, plan.Options{EveryWorkload: true, Hits: "path"}.String()
	var results []journal.Result
	for i := range specs {
		r := journal.Result{I: i, Outcome: harness.Held, Found: found[i]}
		if len(r.Found) > 0 {
			r.Outcome = harness.Violated
		}
		results = append(results, r)
	}
	whole := journal.Head{Plan: p, Shard: plan.Shard{I: 1, Of: 1}}
	cuts := p.Cuts()
	for _, o := range cuts {
		_, at, err := p.Cut(o)
		if err != nil {
			t.Fatal(err)
		}
		wantNew, wantGone := 0, 0
		if slices.Contains(at, odd) {
			wantNew++
		}
		if slices.Contains(at, without) {
			wantGone++
		}
		cut, of, err := journal.Cut(whole, results, o)
		if err != nil {
			t.Fatal(err)
		}
		if r := NewReport(cut, of, known); r.NeedAttention() != wantNew || len(r.Gone()) != wantGone {
			t.Errorf("%s: %d new, gone %v; want %d and %d", o.Chosen(), r.NeedAttention(), r.Gone(), wantNew, wantGone)
		}
	}
	t.Logf("%d cases, %d cuts", len(specs), len(cuts))

	// The replays of the whole sweep count for its cuts.
	rep := NewReport(whole, results, known)
	all, err := NewWithCuts(rep, whole, results, known)
	if err != nil {
		t.Fatal(err)
	}
	if says := all.String(); all.Status() != 1 || !strings.Contains(says, "\n--who daemon: 1 new") ||
		strings.Contains(says, fmt.Sprintf("%d have nothing new", len(all.Cuts))) {
		t.Errorf("status %d:\n%s", all.Status(), says)
	}
	for i := range rep.New {
		rep.New[i].Shown = &Shown{Replays: enoughReplays}
	}
	for i := range rep.Known {
		rep.Known[i].Shown = &Shown{Replays: enoughReplays, Same: 1}
	}
	rep.Settle(p)
	if all, err = NewWithCuts(rep, whole, results, known); err != nil {
		t.Fatal(err)
	}
	if says := all.String(); all.Status() != 0 ||
		!strings.Contains(says, fmt.Sprintf("\n%d cuts: %[1]d have nothing new", len(all.Cuts))) {
		t.Errorf("replayed, status %d:\n%s", all.Status(), says)
	}
}
