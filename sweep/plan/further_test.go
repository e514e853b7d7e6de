package plan

import (
	"slices"
	"testing"

	"github.com/shimquake/shimquake/failpoints/probe/term"
)

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
