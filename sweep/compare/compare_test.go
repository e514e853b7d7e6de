package compare

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/shimquake/shimquake/failpoints"
	"github.com/shimquake/shimquake/failpoints/weave"
	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/must"
	"github.com/shimquake/shimquake/oracle/fact"
	"github.com/shimquake/shimquake/oracle/finding"
	"github.com/shimquake/shimquake/sweep/engine"
	"github.com/shimquake/shimquake/sweep/journal"
	"github.com/shimquake/shimquake/sweep/plan"
	"github.com/shimquake/shimquake/sweep/triage"
)

// fake replaces a runner: it shows what a function says of the n-th run of a case on a
// containerd.
type fake struct {
	shows func(containerd, name string, n int) (class finding.Class)

	mu   sync.Mutex
	runs map[string]int
}

func (f *fake) Run(_ context.Context, c harness.Case) harness.Verdict {
	f.mu.Lock()
	defer f.mu.Unlock()
	key := c.Containerd + " " + c.Name
	f.runs[key]++
	v := harness.Verdict{Case: c, Outcome: harness.Held}
	switch class := f.shows(c.Containerd, c.Name, f.runs[key]); class {
	case "":
	case invalid:
		v.Outcome = harness.Invalid
	default:
		v.Outcome = harness.Violated
		v.Findings = []finding.Finding{{Invariant: finding.Leak, Class: class}}
	}
	return v
}

func (f *fake) Trace(context.Context, harness.Case) (harness.Trace, error) {
	return harness.Trace{}, errors.New("a comparison of results traces nothing")
}

// invalid is the class of a run that is invalid.
const invalid finding.Class = "invalid"

// planOf has a crash at a statement of each of these functions.
func planOf(functions ...string) plan.Plan {
	var p plan.Plan
	for _, name := range functions {
		at := failpoints.MustPoint("stmt:containerd:" + name)
		p.Specs = append(p.Specs, plan.Single(plan.Hit{Point: at, Nth: 1, Path: "create"}, "crash", "task"))
	}
	return p
}

// rows compares two containerds by the fake's runs.
func rows(t *testing.T, p plan.Plan, shared int, shows func(containerd, name string, n int) finding.Class) []Row {
	t.Helper()
	f := &fake{shows: shows, runs: map[string]int{}}
	c := Comparison{Plan: p, Shared: shared, A: "A", B: "B", Alpha: 0.01, Most: 20,
		Functions: []string{"containerd runtime.binary.Start", "containerd runtime.fresh"}}
	var results []journal.Result
	first := func(of string, n int) {
		for i := range n {
			k := must.Get(p.Specs[i].Case(of))(t)
			r := must.Get(journal.ResultOf(i, f.Run(t.Context(), k)))(t)
			if r.On = of; of == "A" {
				r.On = ""
			}
			results = append(results, r)
		}
	}
	first("A", shared)
	first("B", len(p.Specs))
	further := c.Further()
	type done struct {
		Job
		ran []journal.Result
	}
	must.Succeed(t, engine.Follow(t.Context(), engine.New(f, 2),
		func() (Job, bool) { return further.Next(t.Context(), results) },
		func(t *engine.Task, j Job) (done, error) {
			ran, err := j.Do(t)
			return done{j, ran}, err
		}, func(_ *engine.Task, d done) error {
			results = append(results, d.ran...)
			d.Done()
			return nil
		}))
	if n := len(next(c.Rows(results))); n > 0 {
		t.Errorf("%d cases would run again when the comparison is resumed", n)
	}
	return c.Rows(results)
}

func TestRows(t *testing.T) {
	const f, g = "runtime.binary.Start:a", "runtime.Bundle.Delete:a"
	everSecond := func(n int) finding.Class {
		if n%2 == 1 {
			return finding.ClassShim
		}
		return ""
	}
	for name, tt := range map[string]struct {
		functions []string
		shared    int // 0: all
		shows     func(containerd, name string, n int) finding.Class
		want      []string // of each row: kind, class, number of cases
	}{
		"both hold": {[]string{f}, 0, func(string, string, int) finding.Class { return "" }, nil},
		"the same": {[]string{f}, 0, func(string, string, int) finding.Class { return finding.ClassShim },
			[]string{"same shim 1"}},
		"closed": {[]string{f}, 0, func(on, _ string, _ int) finding.Class {
			return map[string]finding.Class{"A": finding.ClassShim}[on]
		}, []string{"closed shim 1"}},
		"opened": {[]string{f}, 0, func(on, _ string, _ int) finding.Class {
			return map[string]finding.Class{"B": finding.ClassShim}[on]
		}, []string{"opened shim 1"}},
		"its fault no longer fires on B": {[]string{f}, 0, func(on, _ string, n int) finding.Class {
			if on == "A" {
				return finding.ClassShim
			}
			return map[bool]finding.Class{true: invalid}[n > 1]
		}, []string{"not sure shim 1"}},
		"other facts": {[]string{f}, 0, func(on, _ string, _ int) finding.Class {
			return map[string]finding.Class{"A": finding.ClassShim, "B": finding.ClassBundle}[on]
		}, []string{"changed shim 1", "changed bundle 1"}},
		"a race on both sides": {[]string{f}, 0, func(on, _ string, n int) finding.Class {
			if on == "A" {
				return everSecond(n)
			}
			return everSecond(n + 1)
		}, []string{"same shim 1"}},
		"a race that is closed": {[]string{f}, 0, func(on, _ string, n int) finding.Class {
			if on == "A" {
				return everSecond(n)
			}
			return ""
		}, []string{"closed shim 1"}},
		"one run of many": {[]string{f}, 0, func(on, _ string, n int) finding.Class {
			if on == "A" && n == 1 {
				return finding.ClassShim
			}
			return ""
		}, []string{"not sure shim 1"}},
		"one function is closed": {[]string{f, g}, 0, func(on, name string, _ int) finding.Class {
			if on == "B" && strings.Contains(name, "bundle") {
				return ""
			}
			return finding.ClassShim
		}, []string{"closed shim 1", "same shim 1"}},
		"one point of a function is closed": {[]string{f, f + "#2"}, 0, func(on, name string, _ int) finding.Class {
			if on == "B" && strings.HasSuffix(name, "2-crash") {
				return ""
			}
			return finding.ClassShim
		}, []string{"closed shim 1", "same shim 1"}},
		"a new point, and nothing like it": {[]string{f, g}, 1, func(_, name string, _ int) finding.Class {
			return map[bool]finding.Class{true: finding.ClassShim}[strings.Contains(name, "bundle")]
		}, []string{"opened shim 1"}},
		"a new function, and its caller shows it": {[]string{f, "runtime.fresh:a"}, 1,
			func(string, string, int) finding.Class { return finding.ClassShim }, []string{"same shim 1", "same shim 1"}},
		"a new point in a function that shows it": {[]string{f, f + "#2"}, 1,
			func(string, string, int) finding.Class { return finding.ClassShim }, []string{"same shim 1", "same shim 1"}},
	} {
		t.Run(name, func(t *testing.T) {
			shared := tt.shared
			if shared == 0 {
				shared = len(tt.functions)
			}
			var got []string
			for _, r := range rows(t, planOf(tt.functions...), shared, tt.shows) {
				got = append(got, string(r.Kind)+" "+string(r.Left[0].Class)+" "+string(rune('0'+len(r.Cases))))
			}
			must.Equal(t, got, tt.want)
		})
	}
}

// A finding that A shows beside another one is closed if B shows only the other one, and
// so is a finding of another class.
func TestAlternate(t *testing.T) {
	of := func(class finding.Class, task string) finding.Finding {
		return finding.Finding{Invariant: finding.Leak, Class: class, Facts: fact.Facts{fact.Task: task}}
	}
	left, rare := of(finding.ClassShim, fact.None), of(finding.ClassShim, "STOPPED")
	run := func(found ...finding.Finding) journal.Result { return journal.Result{Found: found} }
	for name, tt := range map[string]struct {
		a, b []journal.Result
		want bool
	}{
		"alone":          {[]journal.Result{run(rare), run(left)}, []journal.Result{run(left)}, true},
		"beside it":      {[]journal.Result{run(left, rare)}, []journal.Result{run(left)}, false},
		"beside it once": {[]journal.Result{run(rare), run(left), run(left, rare)}, []journal.Result{run(left)}, false},
		"only A":         {[]journal.Result{run(rare)}, []journal.Result{run(left)}, false},
		"of another class": {[]journal.Result{run(rare), run(of(finding.ClassBundle, fact.None))},
			[]journal.Result{run(of(finding.ClassBundle, fact.None))}, false},
	} {
		must.Equal(t, alternate(triage.Signatures([]finding.Finding{rare})[0], &runs{a: tt.a, b: tt.b}), tt.want, name)
	}
}

func TestDifference(t *testing.T) {
	statement := func(who, pkg, function string) weave.Statement {
		return weave.Statement{Who: who, Package: pkg, Function: function}
	}
	was := Source{
		Statements: []weave.Statement{statement("containerd", "core/runtime/v2", "runtime.binary.Start"),
			statement("shim", "pkg/shim", "shim.run"), statement("shim", "pkg/shim", "shim.serve")},
		Functions: weave.Functions{"core/runtime/v2.": "1", "core/runtime/v2.binary.Start": "1", "pkg/shim.": "1",
			"pkg/shim.run": "1", "pkg/shim.serve": "1", "client.Task.Delete": "1", "pkg/shim.import shim.go log": "1",
			"pkg/shim.type service.mu": "1", "client.type Task": "1"},
	}
	for name, tt := range map[string]struct {
		changed    string
		functions  []string
		everything bool
	}{
		"nothing":                      {"", nil, false},
		"a function":                   {"pkg/shim.run", []string{"shim shim.run"}, false},
		"a new function beside others": {"pkg/shim.fresh", nil, false},
		"a new import":                 {"pkg/shim.import shim.go status", nil, false},
		"another import of that name":  {"pkg/shim.import shim.go log", nil, true},
		"what acts on the package":     {"pkg/shim.", []string{"shim shim.run", "shim shim.serve"}, false},
		"a field":                      {"pkg/shim.type service.mu", []string{"shim shim.run", "shim shim.serve"}, false},
		"a new field":                  {"pkg/shim.type service.fresh", nil, false},
		"a new variable elsewhere":     {"client.var fresh", nil, false},
		"a type without probes":        {"client.type Task", nil, true},
		"a function without probes":    {"client.Task.Delete", nil, true},
		"another package":              {"core/mount.", nil, true},
	} {
		t.Run(name, func(t *testing.T) {
			now := Source{Statements: was.Statements, Functions: weave.Functions{}}
			for key, digest := range was.Functions {
				now.Functions[key] = digest
			}
			if tt.changed != "" {
				now.Functions[tt.changed] = "2"
			}
			d := DifferenceOf(was, now)
			must.Equal(t, d.Functions, tt.functions)
			must.Equal(t, len(d.Unwoven) > 0, tt.everything)
		})
	}
}

func TestChoose(t *testing.T) {
	h := journal.Head{Plan: planOf(slices.Repeat([]string{"runtime.binary.Start:a"}, 1000)...),
		Functions: []string{"containerd runtime.binary.Start", "shim shim.run", "shim shim.other"}}
	h.Plan.Specs[1].Faults[0].Point.Who, h.Plan.Specs[1].Faults[0].Point.What = "shim", "shim.run"
	h.Plan.Specs[2].Workload = "case any"
	for i := 10; i < 15; i++ { // one class
		h.Plan.Specs[i].Workload = "restart"
	}
	var results []journal.Result
	for i := range h.Plan.Specs[1:] { // the last case has no result
		reached := []string{"containerd runtime.binary.Start"}
		if i > 2 && i < 15 {
			reached = append(reached, "shim shim.run")
		}
		results = append(results, journal.Result{I: i, Met: h.Mark(reached), Outcome: harness.Held})
	}
	results[3].Outcome = harness.Violated // a class of its own
	results[3].Found = []finding.Finding{{Invariant: finding.Leak}}
	choose := func(d Difference, all bool, share float64, seed uint64) ([]int, int) {
		return d.Choose(h, results, all, share, seed)
	}
	d := Difference{Functions: []string{"shim shim.run"}}
	chosen, sampled := choose(d, false, 0, 1)
	other, _ := choose(d, false, 0, 2)
	if want := []int{1, 2, 3}; len(chosen) != 6 || !slices.Equal(chosen[:3], want) || chosen[3] > 9 ||
		chosen[4] < 10 || chosen[4] > 14 || chosen[5] != 999 || sampled != 0 || slices.Equal(chosen, other) {
		t.Errorf("chose %v, with another seed %v; %d by chance", chosen, other, sampled)
	}
	some, sampled := choose(d, false, 0.02, 7)
	again, _ := choose(d, false, 0.02, 7)
	if sampled < 5 || sampled > 50 || len(some) != 6+sampled || !slices.Equal(some, again) {
		t.Errorf("%d by chance of %d", sampled, len(some))
	}
	if every, _ := choose(d, true, 0, 1); len(every) != 1000 {
		t.Errorf("%d of all", len(every))
	}
	if every, _ := choose(DifferenceOf(Source{}, Source{}), false, 0, 1); len(every) != 1000 {
		t.Errorf("%d without probes", len(every))
	}
	if classes, _ := choose(Difference{Unwoven: []string{"client."}}, false, 0, 1); len(classes) != 6 {
		t.Errorf("chose %v if any case may reach it", classes)
	}
}

func TestStuck(t *testing.T) {
	p := planOf("runtime.binary.Start:a", "runtime.binary.Start:b", "runtime.binary.Start:c", "runtime.binary.Delete:a",
		"runtime.binary.Stop:a")
	p.Specs[3].Workload = "cri"
	p.Specs[4].Faults[0].Path = "load"
	all := Difference{Functions: []string{"containerd runtime.binary.Start", "containerd runtime.binary.Delete",
		"containerd runtime.binary.Stop"}}.Stuck(p)
	var got []string
	for _, s := range all {
		c := must.Get(s.Case("v2.4.2"))(t)
		w := c.Workload
		text := fmt.Sprint(w.API, " ", w.Grouped, " ", len(w.Containers), " ", c.Plan[0].At, " ", c.Plan[0].Do)
		if slices.Contains(w.Script, "restart containerd") {
			text += " restart"
		}
		got = append(got, text)
	}
	want := []string{string(harness.TaskAPI) + " true 2 proc:shim:running 1*stop restart",
		"cri false 2 proc:shim:running 1*stop restart",
		"cri false 2 stmt:containerd:runtime.binary.Delete:a 1*delay(45000)",
		"cri false 2 stmt:containerd:runtime.binary.Start:b 1*delay(45000)",
		string(harness.TaskAPI) + " true 2 stmt:containerd:runtime.binary.Start:b 1*delay(45000)"}
	must.Equal(t, got, want)
}

// The further runs of one row come before the runs of the next one. A case of two rows
// runs as often as one of them needs, and no finding ends its turn early.
func TestNext(t *testing.T) {
	left := []triage.Signature{{Class: finding.ClassShim}}
	var got []string
	for _, of := range next([]Row{
		{On: "B", Left: left, next: []Case{{Spec: 1}, {Spec: 2}}, times: 2},
		{On: "A", Left: left, next: []Case{{Spec: 2}, {Spec: 3}}, times: 3},
	}) {
		got = append(got, fmt.Sprint(of.spec, " ", of.on, " ", len(of.left)))
	}
	must.Equal(t, got, []string{"1 A 1", "2 A 0", "1 A 1", "2 A 0", "3 B 1", "3 B 1", "2 B 0", "3 B 1"})
}

// When the time is over, no further run begins, and what is not decided is not sure.
func TestFurtherRunsEnd(t *testing.T) {
	p := planOf("runtime.binary.Start:a")
	shown := []finding.Finding{{Invariant: finding.Leak, Class: finding.ClassShim}}
	results := []journal.Result{{Outcome: harness.Violated, Found: shown}, {On: "B", Outcome: harness.Held}}
	c := Comparison{Plan: p, Shared: 1, A: "A", B: "B", Alpha: 0.01, Most: 20}
	_, more := c.Further().Next(t.Context(), results)
	must.Equal(t, more, true)
	c.For = time.Nanosecond
	_, more = c.Further().Next(t.Context(), results)
	must.Equal(t, more, false)
	must.Equal(t, c.Rows(results)[0].Kind, Unsure)
}
