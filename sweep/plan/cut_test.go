package plan

import (
	"errors"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/shimquake/shimquake/failpoints/probe/term"
)

// Of whatever traces: a cut of the widest plan has the cases of the plan that its options
// make themselves.
func TestACutIsThePlanOfItsOptions(t *testing.T) {
	points := []struct {
		name   string
		moment term.Moment
	}{
		{caught, term.AtStatement}, {called, term.AtStatement}, {called, term.AtCall}, {called, term.AtCancel},
		{method, AtMethod},
	}
	run := rapid.Custom(func(t *rapid.T) (passes []Pass) {
		nth := map[moment]int{}
		for range rapid.IntRange(1, 12).Draw(t, "passes") {
			at := rapid.SampledFrom(points).Draw(t, "at")
			p := pass(at.name, at.moment, 0, rapid.SampledFrom(Paths).Draw(t, "path"))
			nth[p.counted()]++
			p.Nth = nth[p.counted()]
			passes = append(passes, p)
		}
		return passes
	})
	rapid.Check(t, func(t *rapid.T) {
		var traces []Traces
		for _, w := range DefaultWorkloads()[:3] {
			traces = append(traces, Traces{w, rapid.SliceOfN(run, 1, 2).Draw(t, w)})
		}
		widest, err := New(Options{EveryWorkload: true, Hits: "path"}, traces)
		if err != nil {
			t.Fatal(err)
		}
		for _, o := range widest.Cuts() {
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
			cut, at, err := widest.Cut(o)
			if err != nil {
				t.Fatalf("%s: %v", o, err)
			}
			if keys(cut.Specs) != keys(want.Specs) || cut.Options != want.Options || cut.Among != want.Among ||
				!cut.OfCuts || !want.OfCuts {
				t.Fatalf("%s:\n%s\nand itself\n%s", o, keys(cut.Specs), keys(want.Specs))
			}
			for i, s := range cut.Specs {
				if s.Key() != widest.Specs[at[i]].Key() {
					t.Fatalf("%s: case %d is not that at %d", o, i, at[i])
				}
			}
			if err := cut.Check("cut"); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// keys are those of the cases, in any order: that of a plan is by its hits.
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

func TestACutThatLeavesNothingIsRefused(t *testing.T) {
	p, err := New(Options{Actions: []string{"crash"}}, traced())
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		o     Options
		empty bool
	}{
		"another action":     {Options{Actions: []string{"pause"}}, true},
		"another workload":   {Options{Workloads: []string{"two"}}, true},
		"none is on the way": {Options{Paths: []string{"load"}}, true},
		"no such path":       {Options{Paths: []string{"nowhere"}}, false},
		"no such hits":       {Options{Hits: "some"}, false},
	} {
		cut, _, err := p.Cut(c.o)
		if err == nil {
			t.Errorf("%s: %d cases", name, len(cut.Specs))
		}
		var empty *EmptyError
		if errors.As(err, &empty) != c.empty {
			t.Errorf("%s: %v", name, err)
		}
	}
}
