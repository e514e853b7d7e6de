package triage

import (
	"fmt"
	"slices"
	"testing"

	"github.com/shimquake/shimquake/catalogue"
	"github.com/shimquake/shimquake/failpoints"
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
	known := slices.DeleteFunc(catalogue.Excuses(), func(k catalogue.Excuse) bool { return !k.Applies(p.Version) })
	// Each case of a known finding shows it, but for one; and one of another case is new.
	results, gone, covered := make([]journal.Result, len(p.Specs)), "", 0
	odd, without := -1, -1
	for i, s := range p.Specs {
		results[i] = journal.Result{I: i, Outcome: harness.Held}
		owners := slices.DeleteFunc(slices.Clone(known), func(k catalogue.Excuse) bool {
			return !among(k.Workloads, s.Workload) || !covers(s, k.Case)
		})
		switch {
		case len(owners) == 0 && odd < 0:
			odd = i
			results[i].Found = []oracle.Finding{{Invariant: oracle.Leak, Class: oracle.ClassShim,
				Facts: oracle.Facts{oracle.FactTask: "no-such-thing"}}}
		case len(owners) == 1 && !owners[0].Sometimes && without < 0:
			without, gone = i, owners[0].ID
		}
		for _, k := range owners {
			if covered++; i != without {
				results[i].Found = append(results[i].Found, oracle.Finding{Class: k.Match[0].Class, Facts: k.Match[0].Facts})
			}
		}
		if len(results[i].Found) > 0 {
			results[i].Outcome = harness.Violated
		}
	}
	if covered < 30 || odd < 0 || without < 0 {
		t.Fatalf("the plan has %d cases of known findings, a new one %d, one gone %d", covered, odd, without)
	}
	all := append(parts(p), part{"", func(plan.Spec) bool { return true }})
	for _, a := range all {
		for _, b := range all {
			cut := plan.Plan{Version: p.Version, Options: a.name + " " + b.name, Places: map[failpoints.Point]plan.Place{}}
			var of []journal.Result
			want := [2]int{}
			for i, s := range p.Specs {
				if !a.has(s) || !b.has(s) {
					continue
				}
				r := results[i]
				r.I = len(cut.Specs)
				cut.Specs, of = append(cut.Specs, s), append(of, r)
				if i == odd {
					want[0]++
				}
				if i == without {
					want[1]++
				}
			}
			if len(cut.Specs) == 0 {
				continue
			}
			r := NewReport(journal.Head{Plan: cut, Shard: plan.Shard{I: 1, Of: 1}}, of, known)
			if got := [2]int{r.Fresh(), len(r.Gone())}; got != want {
				t.Errorf("%s: %v new and gone (%v), want %v (%s)", cut.Options, got, r.Gone(), want, gone)
			}
		}
	}
	t.Log(fmt.Sprintf("%d cases of known findings, %d cuts", covered, len(all)*len(all)))
}
