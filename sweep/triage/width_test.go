package triage

import (
	"compress/gzip"
	"encoding/json"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/shimquake/shimquake/catalogue"
	"github.com/shimquake/shimquake/failpoints/probe/term"
	"github.com/shimquake/shimquake/must"
	"github.com/shimquake/shimquake/oracle/fact"
	"github.com/shimquake/shimquake/oracle/finding"
	"github.com/shimquake/shimquake/sweep/plan"
)

// The largest number of cases of the default plan that a finding and a symptom may
// excuse: some 3 and 4 of a hundred. The widest finding is a race of any crash while runc
// creates another container of the pod. The widest symptom has twelve windows around the
// start and the load of a shim. It has 192 cases, and 11 typed errors on the same error
// paths. A finding that needs more is too coarse: use points instead of functions, or
// more facts.
const (
	maxOfAFinding = 125
	maxOfASymptom = 203
)

// defaultPlan returns the default sweep of v2.4.2, as it was traced. To renew it:
//
//	sudo bin/shimquake sweep --plan-only | gzip -9n >sweep/triage/testdata/plan-v2.4.2.json.gz
func defaultPlan(t *testing.T) (p plan.Plan) {
	t.Helper()
	f := must.Get(os.Open("testdata/plan-v2.4.2.json.gz"))(t)
	defer func() { _ = f.Close() }() // only read
	must.Succeed(t, json.NewDecoder(must.Get(gzip.NewReader(f))(t)).Decode(&p))
	must.Succeed(t, p.Check(f.Name()), "renew the plan, see defaultPlan")
	if p.Options != (plan.Options{}).String() {
		t.Fatalf("%s is the plan of %s, not of the default sweep: renew it, see defaultPlan", f.Name(), p.Options)
	}
	return p
}

// symptom returns a match without the fact that identifies the container.
func symptom(m finding.Match) string {
	for _, k := range []fact.Key{fact.True, fact.Reported, fact.Role, fact.Code} {
		m.Facts[k] = ""
	}
	return m.String()
}

// inWindow reports whether a match has a fact about its time. The judge determines that
// fact in each case. So the match needs no narrow place, and only its number of cases is
// bounded.
func inWindow(m finding.Match) bool {
	return m.Facts[fact.Containerd] == fact.Down || m.Facts[fact.Shim] == fact.Dead ||
		m.Facts[fact.Create] != "" || m.Facts[fact.Served] == fact.ByNeighbour
}

// widths returns the cases of the plan in which findings, and symptoms, may be excused.
// It leaves out the symptoms with such a time.
func widths(p plan.Plan, known []catalogue.Excuse) (finding, symptoms map[string]map[int]bool) {
	finding, symptoms = map[string]map[int]bool{}, map[string]map[int]bool{}
	put := func(in map[string]map[int]bool, key string, i int) {
		if in[key] == nil {
			in[key] = map[int]bool{}
		}
		in[key][i] = true
	}
	for _, k := range known {
		if !k.Applies(p.Version) || len(k.Where) == 0 { // a fix decides, or a replay
			continue
		}
		finding[k.ID] = map[int]bool{}
		for i, s := range p.Specs {
			if s.Further || !AppliesTo(k, s) { // further cases are not bounded
				continue
			}
			put(finding, k.ID, i)
			for _, m := range k.Match {
				if inWindow(m) {
					continue
				}
				put(symptoms, symptom(m), i)
			}
		}
	}
	return finding, symptoms
}

// TestWidth prints how many cases of the default plan each known finding can excuse, and
// fails if there are too many. A finding that excuses everything hides other causes.
func TestWidth(t *testing.T) {
	p := defaultPlan(t)
	findingOf, symptoms := widths(p, catalogue.Excuses())
	t.Logf("of %d cases of the default sweep of %s:", len(p.Specs), p.Version)
	for _, k := range catalogue.Excuses() {
		if !slices.ContainsFunc(k.Match, func(m finding.Match) bool { return !inWindow(m) }) {
			t.Logf("%5d finding %s, each in a window", len(findingOf[k.ID]), k.ID)
			delete(findingOf, k.ID)
		}
	}
	print := func(what string, in map[string]map[int]bool, most int) {
		names := slices.SortedFunc(maps.Keys(in), func(a, b string) int {
			return len(in[b])*1000 - len(in[a])*1000 + strings.Compare(a, b)
		})
		for _, name := range names {
			t.Logf("%5d %s %s", len(in[name]), what, name)
			if n := len(in[name]); n > most {
				t.Errorf("%s %s can excuse %d cases, at most %d may be: narrow its place or its match", what, name, n, most)
			}
		}
	}
	print("finding", findingOf, maxOfAFinding)
	print("symptom", symptoms, maxOfASymptom)
}

// A finding with an action that no plan has explains nothing there.
func TestActionsOfFindings(t *testing.T) {
	for _, k := range catalogue.Excuses() {
		for _, w := range k.Windows() {
			for _, a := range w.Actions {
				if slices.Contains(term.Actions(), term.Action(a)) || slices.Contains(plan.Actions, a) {
					continue
				}
				must.Equal(t, (plan.Options{Actions: []string{a}}).Check(), nil, k.ID)
			}
		}
	}
}
