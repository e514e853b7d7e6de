package plan

import (
	"errors"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/shimquake/shimquake/failpoints/probe/term"
)

// For any traces, a cut of the widest plan has the cases of the plan that its options
// make from the traces.
func TestACutIsThePlanOfItsOptions(t *testing.T) {
	points := []struct {
		name   string
		moment term.Moment
	}{
		{caught, term.AtStatement}, {called, term.AtStatement}, {called, term.AtCall}, {called, term.AtCancel},
		{method, AtMethod},
	}
	run := rapid.Custom(func(t *rapid.T) (passes []Hit) {
		nth := map[moment]int{}
		for range rapid.IntRange(1, 12).Draw(t, "passes") {
			at := rapid.SampledFrom(points).Draw(t, "at")
			p := pass(at.name, at.moment, 0, rapid.SampledFrom(Paths).Draw(t, "path"))
			nth[p.counted()]++
			p.Nth, p.Ending = nth[p.counted()], rapid.IntRange(0, 3).Draw(t, "ending") == 0
			passes = append(passes, p)
		}
		return passes
	})
	rapid.Check(t, func(t *rapid.T) {
		var traces []Traces
		for _, w := range DefaultWorkloads() {
			traces = append(traces, Traces{Workload: w, Runs: rapid.SliceOfN(run, 1, 2).Draw(t, w)})
		}
		all, err := New(widest, traces)
		if err != nil {
			t.Fatal(err)
		}
		for _, o := range all.Cuts() {
			var asked []Traces // a sweep traces no other
			for _, tr := range traces {
				if slices.Contains(o.WithDefaults().Workloads, tr.Workload) {
					asked = append(asked, tr)
				}
			}
			want, err := New(o, asked)
			if err != nil {
				t.Fatalf("%s: %v", o, err)
			}
			cut, at, err := all.Cut(o)
			if err != nil {
				t.Fatalf("%s: %v", o, err)
			}
			if keys(cut.Specs) != keys(want.Specs) || cut.Options != want.Options || cut.Among != want.Among ||
				!cut.OfCuts || !want.OfCuts {
				t.Fatalf("%s: the cut has\n%s\nand the plan of its options\n%s", o, keys(cut.Specs), keys(want.Specs))
			}
			for i, s := range cut.Specs {
				if s.Key() != all.Specs[at[i]].Key() {
					t.Fatalf("%s: case %d is not the plan's case %d", o, i, at[i])
				}
			}
			if err := cut.Check("cut"); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// keys returns the sorted keys of the cases, because the order of a plan depends on its
// hits.
func keys(all []Spec) (text string) {
	var keys []string
	for _, s := range all {
		keys = append(keys, s.Key())
	}
	slices.Sort(keys)
	for _, k := range keys {
		text += k + "\n"
	}
	return text
}

func TestACutThatLeavesNothingOrLacksCasesIsRefused(t *testing.T) {
	traces := traced()
	all, err := New(widest, traces)
	if err != nil {
		t.Fatal(err)
	}
	some, err := New(Options{}, traces)
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		p     Plan
		o     Options
		empty bool
	}{
		"none is on the way":  {all, Options{Paths: []string{"load"}}, true},
		"none of it passes":   {all, Options{Workloads: []string{"with-pod"}}, true},
		"another action":      {all, Options{Actions: []string{"crash", "pause"}}, false},
		"another workload":    {all, Options{Workloads: []string{"task", "two"}}, false},
		"more hits":           {all, Options{Hits: "all"}, false},
		"no such path":        {all, Options{Paths: []string{"nowhere"}}, false},
		"of the default plan": {some, Options{Paths: []string{"delete"}}, false},
	} {
		cut, _, err := c.p.Cut(c.o)
		if err == nil {
			t.Errorf("%s: %d cases", name, len(cut.Specs))
		}
		var empty *EmptyError
		if errors.As(err, &empty) != c.empty {
			t.Errorf("%s: %v", name, err)
		}
	}
	if cuts := some.Cuts(); len(cuts) > 0 {
		t.Errorf("the default plan has cuts: %v", cuts)
	}
}
