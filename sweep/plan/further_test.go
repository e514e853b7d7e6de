package plan

import (
	"regexp"
	"slices"
	"testing"

	"github.com/shimquake/shimquake/failpoints/probe/term"
)

const alive = "rpc:shim:Task.Wait:entry"

func TestSituations(t *testing.T) {
	for _, c := range []struct {
		workload string
		path     string
		step     int
		want     string
	}{
		{"task", "load", 0, "at load"},
		{"task", "create", 1, "at create"},
		{"task", "exit", 5, "at exit, running or stopped"},
		{"task", "delete", 8, "at delete, stopped"},
		{"again", "exit", 3, "at exit, running, then create"},
		{"again", "create", 6, "at create, deleted before, none"},
		{"grouped", "create", 1, "at create, in one shim"},
		{"restart", "load", 7, "at load, running, stopped"},
		{"restart-pod", "load", 6, "at load, exited, in a pod, running"},
		{"restart-pod", "exit", 9, "at exit, in a pod, other exited, restarted, running"},
		{"exec", "exit", 4, "at exit, running, then exec"},
		{"stops", "exit", 10, "another call, at exit, in a pod, other exited or running, other running"},
	} {
		w, err := workloadNamed(c.workload)
		if err != nil {
			t.Fatal(err)
		}
		all, err := situationsOf(w.Workload)
		if err != nil {
			t.Fatal(err)
		}
		if got := all.at(Hit{Path: c.path, Step: c.step}).String(); got != c.want {
			t.Errorf("%s, step %d (%s): %q, want %q", c.workload, c.step, all.steps[max(c.step-1, 0)], got, c.want)
		}
	}
}

// The hit that differs most comes first, and hits of a kind share their turns.
func TestFarthest(t *testing.T) {
	hit := func(point string, s ...string) situated {
		c := candidate{Hit: pass(point, term.AtCall, 1, "exit")}
		return situated{c, s, situation(s).String(), absent}
	}
	have := []situated{hit(called, "running")}
	rest := []situated{
		hit(called, "running"), hit(called, "running", "restarted"), hit(called, "other running", "restarted", "stopped"),
		hit(caught, "running"), hit(method, "running"),
	}
	var got []string
	for _, s := range farthest(have, rest, 9) {
		got = append(got, s.Point.Where+": "+s.situation.String())
	}
	want := []string{
		"if-err-nil: running",
		"out-err-cmd.CombinedOutput: other running, restarted, stopped",
		"entry: running",
		"out-err-cmd.CombinedOutput: running, restarted",
	}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// A part of the default sweep has the further cases with its processes and actions.
func TestFurther(t *testing.T) {
	all := append(traced(), Traces{Workload: "again", Runs: traced()[0].Runs})
	whole, err := New(Options{}, all)
	if err != nil {
		t.Fatal(err)
	}
	further := func(p Plan) (all []Spec) {
		return slices.DeleteFunc(slices.Clone(p.Specs), func(s Spec) bool { return s.Situation == "" })
	}
	if len(further(whole)) == 0 {
		t.Fatal("the default sweep has no further case")
	}
	part, err := New(Options{Who: []string{"daemon"}, Actions: []string{"crash"}}, all)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range part.Specs {
		if !slices.ContainsFunc(whole.Specs, func(o Spec) bool { return o.Key() == s.Key() }) {
			t.Errorf("%s is no case of the whole sweep", s)
		}
	}
	for _, s := range further(whole) {
		kept := s.Last().Point.Who == "containerd" && s.Last().Word() == "crash"
		if is := slices.ContainsFunc(part.Specs, func(o Spec) bool { return o.Key() == s.Key() }); is != kept {
			t.Errorf("%s: in the part: %v, want %v", s, is, kept)
		}
	}
	one, err := New(Options{Workloads: []string{"task"}}, traced()[:1])
	if err != nil || len(further(one)) > 0 {
		t.Errorf("a sweep of one workload has further cases: %v, %v", further(one), err)
	}
}

// A call that no client's request waits for is planned to fail twice.
func TestFailTwice(t *testing.T) {
	const other = "stmt:containerd:runtime.Bundle.Delete:err-atomicDelete-b.Path"
	own := []Traces{{Workload: "task", Runs: [][]Hit{{
		pass(called, term.AtCall, 1, "exit"), pass(called, term.AtCancel, 1, "exit"), // a request waits for it
		pass(other, term.AtCall, 1, "exit"), pass(other, term.AtCall, 2, "load"), pass(caught, term.AtStatement, 1, "exit"),
	}}}}
	have, err := situate(candidates(own))
	if err != nil {
		t.Fatal(err)
	}
	all := failTwice(have, own)
	if len(all) != 1 || all[0].Point.String() != other || all[0].Path != "exit" {
		t.Fatalf("%+v, want the call that nothing waits for", all)
	}
	s := all[0].spec("error(x)", 2)
	c, err := s.Case("")
	if err != nil || c.Plan.String() != other+" 2*error(x)" || s.Situation != "again, at exit" || s.Thorough {
		t.Errorf("%+v, %v, plan %s", s, err, c.Plan)
	}
	once := all[0].spec("error(x)", 1)
	if once.Key() == s.Key() || once.name() == s.name() || once.String() == s.String() {
		t.Errorf("one failure and two are the same case: %s", s)
	}
}

// After the death of a shim, the calls fail that no other run has. The id is then used by
// the same runtime.
func TestFailAfterDeath(t *testing.T) {
	const cleanup = "stmt:containerd:runtime.binary.Delete:if-err-cmd.Run-err-nil"
	run := []Hit{pass(called, term.AtCall, 1, "create"), pass(alive, AtMethod, 1, "exit"),
		pass(cleanup, term.AtCall, 1, "delete")}
	own := []Traces{{Workload: "task", Runs: [][]Hit{run, run}}}
	deaths := Options{}.deaths(own)
	if len(deaths) != 1 || deaths[0].Last().String() != alive+" crash, exit" {
		t.Fatalf("%v, want a crash at the shim's only method", deaths)
	}
	fault := deaths[0].Last()
	run = []Hit{pass(called, term.AtCall, 1, "create"), pass(alive, AtMethod, 1, "exit"),
		pass(cleanup, term.AtCall, 1, "exit")}
	all, err := situate(candidates([]Traces{{Workload: "task", Runs: [][]Hit{run, run}, After: &fault}}))
	if err != nil {
		t.Fatal(err)
	}
	all = failAfterDeath(all, own)
	if len(all) != 1 || all[0].Point.String() != cleanup {
		t.Fatalf("%+v, want the cleanup", all)
	}
	for _, tt := range []struct {
		after, faultless string
		want             int
	}{
		{"start", "start", 0}, {"start", "exit", 0}, {"exit", "start", 0}, {"start", "create", 1}, {"exit", "create", 1},
	} {
		hit := []situated{all[0]}
		hit[0].Path = tt.after
		without := []Traces{{Workload: "task", Runs: [][]Hit{{pass(cleanup, term.AtCall, 1, tt.faultless)}}}}
		if got := failAfterDeath(hit, without); len(got) != tt.want {
			t.Errorf("the path is %s, and without a fault %s: %+v", tt.after, tt.faultless, got)
		}
	}
	s := all[0].spec("loseResult", 1)
	if c, err := s.Case(""); err != nil || len(c.Plan) != 2 || !c.Workload.Thorough ||
		s.Situation != "at exit, shim died at exit" {
		t.Errorf("%+v, %v, %s", s, err, c)
	}
	if deaths := (Options{Points: regexp.MustCompile("x")}).deaths(own); deaths != nil {
		t.Errorf("a sweep of some points traces %v", deaths)
	}
}

// Each function gets a case before any function gets another.
func TestSpread(t *testing.T) {
	hit := func(point string) situated {
		return situated{candidate: candidate{Hit: pass(point, term.AtCall, 1, "exit")}}
	}
	const other = "stmt:containerd:runtime.Bundle.Delete:err-atomicDelete-b.Path"
	all := []situated{hit(caught), hit(called), hit(called), hit(other)}
	for n, want := range map[int][]string{2: {caught, other}, 9: {caught, other, called}} {
		var got []string
		for _, s := range spread(all, n) {
			got = append(got, s.Point.String())
		}
		if !slices.Equal(got, want) {
			t.Errorf("%d: %q, want %q", n, got, want)
		}
	}
}
