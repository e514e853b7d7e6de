package plan

import (
	"regexp"
	"slices"
	"testing"

	"github.com/shimquake/shimquake/failpoints/probe/term"
	"github.com/shimquake/shimquake/must"
)

const alive = "rpc:shim:Task.Wait:entry"

const deleted = "stmt:containerd:runtime.Bundle.Delete:err-atomicDelete-b.Path"

// A sample has each point that no other workload reaches, and of the other points of a
// workload a few, each of another function. Another hit changes at most two cases.
func TestSample(t *testing.T) {
	one := func(point, workload string) workloadHit {
		return workloadHit{Hit: pass(point, term.AtCall, 1, "exit"), workload: workload}
	}
	have := []workloadHit{one(called, "task"), one(caught, "task")}
	all := []workloadHit{one(called, "exec"), one(caught, "exec"), one(deleted, "exec"), one(deleted, "again")}
	got := map[string]int{}
	for _, c := range sample(have, all) {
		got[c.Point.What+" of "+c.workload]++
	}
	for _, want := range []string{
		"runtime.binary.Start of exec", "runtime.Bundle.Delete of exec", "runtime.Bundle.Delete of again",
	} {
		must.Equal(t, got[want], 1, want)
		must.Equal(t, len(got), 3, want)
	}
	var many []workloadHit
	for i := range 3 * sampled {
		many = append(many, one("stmt:containerd:runtime.f"+string(rune('a'+i))+":x", "exec"))
	}
	before := sample(many, slices.Clone(many))
	changed := 0
	for _, c := range sample(many, slices.Clone(many[1:])) {
		if !slices.Contains(before, c) {
			changed++
		}
	}
	if len(before) != sampled || changed > 1 {
		t.Errorf("%d cases, want %d; without one hit %d others", len(before), sampled, changed)
	}
}

// A part of the default sweep has the further cases with its processes and actions.
func TestFurther(t *testing.T) {
	all := append(traced(), Traces{Workload: "again", Runs: traced()[0].Runs})
	whole := must.Get(New(Options{}, all))(t)
	further := func(p Plan) (all []Spec) {
		return slices.DeleteFunc(slices.Clone(p.Specs), func(s Spec) bool { return !s.Further })
	}
	if len(further(whole)) == 0 {
		t.Fatal("the default sweep has no further case")
	}
	for _, o := range []Options{
		{Who: []string{"daemon"}, Actions: []string{"crash"}}, {Who: []string{"shim"}},
		{Actions: []string{"error", "cancel"}}, {Actions: []string{"hang"}},
	} {
		part := must.Get(New(o, all))(t)
		o = o.WithDefaults()
		for _, s := range part.Specs {
			if !slices.ContainsFunc(whole.Specs, func(o Spec) bool { return o.Key() == s.Key() }) {
				t.Errorf("%s is no case of the whole sweep", s)
			}
		}
		for _, s := range further(whole) {
			kept := slices.Contains(o.Who, processWord(s.Last().Point)) && slices.Contains(o.Actions, wordOf(s.Last().Action))
			if is := slices.ContainsFunc(part.Specs, func(o Spec) bool { return o.Key() == s.Key() }); is != kept {
				t.Errorf("%s: in the part %s: %v, want %v", s, o, is, kept)
			}
		}
	}
	one := must.Get(New(Options{Workloads: []string{"task"}}, traced()[:1]))(t)
	must.Len(t, further(one), 0, "a sweep of one workload has further cases")
}

// A call that no client's request waits for is planned to fail twice.
func TestFailTwice(t *testing.T) {
	all := failTwice(commonHits([]Traces{{Workload: "task", Runs: [][]Hit{{
		pass(called, term.AtCall, 1, "exit"), pass(called, term.AtCancel, 1, "exit"), // a request waits for it
		pass(deleted, term.AtCall, 1, "load"), pass(deleted, term.AtCall, 2, "exit"), pass(deleted, term.AtCall, 3, "exit"),
		pass(caught, term.AtStatement, 1, "exit"),
	}}}}))
	if len(all) != 1 || all[0].Point.String() != deleted || all[0].Nth != 2 {
		t.Fatalf("%+v, want the call that nothing waits for", all)
	}
	s := all[0].further("error(x)", 2)
	c, err := s.Case("")
	if err != nil || c.Plan.String() != deleted+" 1*off->2*error(x)" || !s.Further || s.Thorough {
		t.Errorf("%+v, %v, plan %s", s, err, c.Plan)
	}
	once := all[0].further("error(x)", 1)
	if once.Key() == s.Key() || once.name() == s.name() || once.String() == s.String() {
		t.Errorf("one failure and two are the same case: %s", s)
	}
}

// After the death of a shim, the calls fail that clean up. The id is then used by the
// same runtime.
func TestFailAfterDeath(t *testing.T) {
	const cleanup = "stmt:containerd:runtime.binary.Delete:if-err-cmd.Run-err-nil"
	run := []Hit{pass(called, term.AtCall, 1, "create"), pass(method, AtMethod, 1, "create"),
		pass(alive, AtMethod, 1, "exit"), pass(cleanup, term.AtCall, 1, "exit")}
	own := []Traces{{Workload: "task", Runs: [][]Hit{run, run}}}
	death := Options{}.death(own)
	if len(death) != 1 || death[0].Last().String() != alive+" crash, exit" {
		t.Fatalf("%v, want a crash at the shim's only method after the exit", death)
	}
	fault := death[0].Last()
	all := failAfterDeath(commonHits([]Traces{{Workload: "task", Runs: [][]Hit{run, run}, After: &fault}}))
	if len(all) != 1 || all[0].Point.String() != cleanup {
		t.Fatalf("%+v, want the cleanup", all)
	}
	s := all[0].further("loseResult", 1)
	if c, err := s.Case(""); err != nil || len(c.Plan) != 2 || !c.Workload.Thorough {
		t.Errorf("%+v, %v, %s", s, err, c)
	}
	if death := (Options{Points: regexp.MustCompile("x")}).death(own); death != nil {
		t.Errorf("a sweep of some points traces %v", death)
	}
}
