package triage

import (
	"slices"
	"testing"

	"github.com/shimquake/shimquake/catalogue"
	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/oracle"
	"github.com/shimquake/shimquake/sweep/journal"
	"github.com/shimquake/shimquake/sweep/plan"
)

// part is what one option of the command line leaves of a plan.
type part struct {
	name string
	has  func(plan.Spec) bool
}

// parts are those of --who, --actions, --path and --workload, of one word each.
func parts(p plan.Plan) (all []part) {
	add := func(name string, word func(plan.Spec) string) {
		seen := map[string]bool{}
		for _, s := range p.Specs {
			if w := word(s); !seen[w] {
				seen[w] = true
				all = append(all, part{name + " " + w, func(s plan.Spec) bool { return word(s) == w }})
			}
		}
	}
	add("--who", func(s plan.Spec) string { return s.Last().Point.Who })
	add("--actions", func(s plan.Spec) string { return s.Last().Word() })
	add("--path", func(s plan.Spec) string { return s.Last().Path })
	add("--workload", func(s plan.Spec) string { return s.Workload })
	return all
}

// What a sweep says of a case does not hang on which others it runs: of one outcome each
// cut of the plan, by one option and by two, says what the whole says of the same cases.
func TestACutSaysWhatTheWholeSays(t *testing.T) {
	p := defaultPlan(t)
	known := slices.DeleteFunc(slices.Clone(catalogue.Excuses()), func(k catalogue.Excuse) bool {
		return !k.Applies(p.Version)
	})
	// Each case of a known finding shows it, but for one; and one of another case is new.
	var specs []plan.Spec
	var found [][]oracle.Finding
	odd, without := -1, -1
	for _, s := range p.Specs {
		var left []oracle.Finding
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
			left = append(left, oracle.Finding{Class: k.Match[0].Class, Facts: k.Match[0].Facts})
		}
		if !owned && odd < 0 {
			owned, odd = true, len(specs)
			left = []oracle.Finding{{Class: oracle.ClassShim, Facts: oracle.Facts{oracle.FactTask: "no-such-thing"}}}
		}
		if owned {
			specs, found = append(specs, s), append(found, left)
		}
	}
	if len(specs) < 30 || odd < 0 || without < 0 {
		t.Fatalf("the plan has %d cases of known findings, a new one %d, one gone %d", len(specs), odd, without)
	}
	p.Specs = specs
	all, cuts := append(parts(p), part{"", func(plan.Spec) bool { return true }}), 0
	for _, a := range all {
		for _, b := range all {
			cut := plan.Plan{Version: p.Version, Options: a.name + " " + b.name}
			var results []journal.Result
			wantNew, wantGone := 0, 0
			for i, s := range specs {
				if !a.has(s) || !b.has(s) {
					continue
				}
				r := journal.Result{I: len(cut.Specs), Outcome: harness.Held, Found: found[i]}
				if len(r.Found) > 0 {
					r.Outcome = harness.Violated
				}
				cut.Specs, results = append(cut.Specs, s), append(results, r)
				switch i {
				case odd:
					wantNew++
				case without:
					wantGone++
				}
			}
			if len(cut.Specs) == 0 {
				continue
			}
			cuts++
			r := NewReport(journal.Head{Plan: cut, Shard: plan.Shard{I: 1, Of: 1}}, results, known)
			if r.Fresh() != wantNew || len(r.Gone()) != wantGone {
				t.Errorf("%s: %d new, gone %v; want %d and %d", cut.Options, r.Fresh(), r.Gone(), wantNew, wantGone)
			}
		}
	}
	t.Logf("%d cases, %d cuts", len(specs), cuts)
}
