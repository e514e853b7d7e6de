package plan

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/shimquake/shimquake/failpoints"
	"github.com/shimquake/shimquake/failpoints/probe/term"
	"github.com/shimquake/shimquake/must"
)

const (
	caught = "stmt:containerd:runtime.binary.Start:if-err-nil"
	called = "stmt:containerd:runtime.binary.Start:out-err-cmd.CombinedOutput"
	method = "rpc:shim:Task.Shutdown:entry"
)

// pass returns a pass at a moment.
func pass(point string, m term.Moment, nth int, path string) Hit {
	return Hit{Point: failpoints.MustPoint(point), Moment: m, Nth: nth, Path: path}
}

// traced returns two runs of the task workload and two of the pod's. The second run of
// the task has one hit more.
func traced() []Traces {
	run := []Hit{
		pass(called, term.AtStatement, 1, "create"), pass(called, term.AtCall, 1, "create"),
		pass(called, term.AtCancel, 1, "create"), pass(caught, term.AtStatement, 1, "create"),
		pass(caught, term.AtStatement, 2, "create"), pass(caught, term.AtStatement, 3, "delete"),
		pass(method, AtMethod, 1, "delete"),
	}
	more := append(slices.Clone(run), pass(caught, term.AtStatement, 4, "delete"))
	pod := []Hit{
		pass(method, AtMethod, 1, "delete"), pass(method, AtMethod, 2, "exit"),
		pass(caught, term.AtStatement, 1, "create"),
	}
	return []Traces{{Workload: "task", Runs: [][]Hit{run, more}}, {Workload: "cri", Runs: [][]Hit{pod, pod}}}
}

func specs(t *testing.T, o Options) []string {
	t.Helper()
	p := must.Get(New(o, traced()))(t)
	texts := make([]string, len(p.Specs))
	for i, s := range p.Specs {
		texts[i] = strings.ReplaceAll(s.String(), errorText, "x")
	}
	return texts
}

// Of the hits of several runs only those count that all runs have, on the first of their
// paths.
func TestCommon(t *testing.T) {
	at := func(path string) []Hit { return []Hit{pass(caught, term.AtCall, 1, path)} }
	ending := pass(caught, term.AtCall, 1, "delete")
	ending.Ending = true
	got := Common([][]Hit{append(at("delete"), pass(caught, term.AtCall, 2, "delete")), at("exit"), {ending}})
	want := at("exit")
	want[0].Ending = true
	must.Equal(t, got, want)
}

func TestPlan(t *testing.T) {
	crash, failing := []string{"crash"}, []string{"error"}
	stmt := regexp.MustCompile("^stmt")
	var all strings.Builder
	for _, c := range []struct {
		name string
		o    Options
	}{
		{"crash at statements", Options{Actions: crash, Points: stmt}},
		{"crash at statements, on each path", Options{Actions: crash, Points: stmt, Hits: "path"}},
		{"an error is two faults at a statement", Options{Actions: failing, Who: []string{"daemon"}}},
		{"an error is one fault at a method", Options{Actions: failing, Who: []string{"shim"}, Hits: "path"}},
		{"cancel where a client can", Options{Actions: []string{"cancel"}, Who: []string{"daemon"}}},
		{"later hits", Options{Actions: crash, Hits: "all", Paths: []string{"create"}, Workloads: []string{"task"}}},
		{"every workload", Options{Actions: crash, EveryWorkload: true, Paths: []string{"delete"}}},
	} {
		fmt.Fprintf(&all, "# %s:\n%s\n", c.name, strings.Join(specs(t, c.o), "\n"))
	}
	must.Golden(t, "testdata/plans.txt", all.String())
}

// New plans no hit that some trace lacks. It marks a hit of a process that is about to
// exit.
func TestPlanMarksTheUnsteady(t *testing.T) {
	all := traced()
	last := &all[0].Runs[0][len(all[0].Runs[0])-1]
	last.Ending = true
	p := must.Get(New(Options{Actions: []string{"crash"}, Hits: "all"}, all))(t)
	n := 0
	for _, s := range p.Specs {
		f := s.Last()
		if s.Unsteady {
			n++
		}
		if s.Unsteady != (f.Point.String() == method && s.Workload == "task") || f.Nth > 3 {
			t.Errorf("%s: unsteady %v", s, s.Unsteady)
		}
	}
	must.Equal(t, n, 1, "are unsteady")
}

func TestAnEmptyPlanSaysWhichFilterEmptiedIt(t *testing.T) {
	for filter, o := range map[string]Options{
		`--points "^nothing$"`: {Points: regexp.MustCompile("^nothing$")},
		"--path load":          {Paths: []string{"load"}},
		"--who daemon":         {Who: []string{"daemon"}, Workloads: []string{"cri"}, Points: regexp.MustCompile("^rpc")},
		"--actions hang":       {Actions: []string{"hang"}, Points: regexp.MustCompile("^stmt")},
	} {
		traces := traced()
		if filter == "--who daemon" {
			traces = []Traces{{Workload: "cri", Runs: [][]Hit{{pass(method, AtMethod, 1, "exit")}}}}
		}
		_, err := New(o, traces)
		var empty *EmptyError
		if !errors.As(err, &empty) || empty.Filter != filter {
			t.Errorf("%s: %v", filter, err)
		}
	}
	must.Fail(t, must.ErrorOf(New(Options{}, nil)), "a plan of no traces was made")
}

func TestThePlanIsTheSameForTheSameTraces(t *testing.T) {
	first := must.Get(New(Options{}, traced()))(t)
	for range 20 { // maps are walked in another order each time
		again, err := New(Options{}, traced())
		if err != nil || again.Digest != first.Digest {
			t.Fatalf("%s, then %s: %v", first.Digest, again.Digest, err)
		}
	}
	other, err := New(Options{Actions: []string{"crash"}}, traced())
	if err != nil || other.Digest == first.Digest {
		t.Errorf("another plan has the same digest: %v", err)
	}
}

// A measurement of the default sweep limits a cut that has only its cases.
func TestWhichCutsTheDefaultSweepBounds(t *testing.T) {
	whole := must.Get(New(Options{}, traced()))(t)
	for name, c := range map[string]struct {
		o    Options
		want bool
	}{
		"the whole":        {Options{}, true},
		"of another":       {Options{Containerd: "v2.3.7"}, true},
		"--who":            {Options{Who: []string{"shim"}}, true},
		"--who both":       {Options{Who: []string{"both"}}, true},
		"--actions":        {Options{Actions: []string{"crash", "code"}}, true},
		"both":             {Options{Who: []string{"daemon"}, Actions: []string{"error"}}, true},
		"another action":   {Options{Actions: []string{"crash", "panic"}}, false},
		"--path":           {Options{Who: []string{"daemon"}, Paths: []string{"delete"}}, false},
		"--workload":       {Options{Workloads: []string{"task"}}, false},
		"--hits":           {Options{Hits: "path"}, false},
		"--points":         {Options{Points: regexp.MustCompile("Start")}, false},
		"--every-workload": {Options{EveryWorkload: true}, false},
		"all hits":         {Options{Hits: "all"}, false},
		"another workload": {Options{Workloads: []string{"exec"}}, false},
	} {
		p, err := New(c.o, traced())
		must.Succeed(t, err, name)
		for _, s := range p.Specs {
			if c.want && !slices.ContainsFunc(whole.Specs, func(w Spec) bool { return w.Key() == s.Key() }) {
				t.Errorf("%s: %s is no case of the default sweep", name, s)
			}
		}
	}
}

func TestOptionsAreChecked(t *testing.T) {
	for says, o := range map[string]Options{
		`did you mean "crash"`:  {Actions: []string{"crahs"}},
		`did you mean "delete"`: {Paths: []string{"delet"}},
		`did you mean "task"`:   {Workloads: []string{"taks"}},
		`did you mean "daemon"`: {Who: []string{"deamon"}},
		"first, path, all, or":  {Hits: "0"},
		"expected":              {Actions: []string{"delay(x)"}},
	} {
		must.FailWith(t, o.Check(), says, o)
	}
}

func TestShardsAreAPartition(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		of, n := rapid.IntRange(1, 20).Draw(t, "of"), rapid.IntRange(0, 200).Draw(t, "n")
		for i := range n {
			in := 0
			for k := 1; k <= of; k++ {
				if (Shard{k, of}).Has(i) {
					in++
				}
			}
			if in != 1 {
				t.Fatalf("case %d is in %d of %d shards", i, in, of)
			}
		}
		for k := 1; k <= of; k++ {
			s, has := Shard{k, of}, 0
			for i := range n {
				if s.Has(i) {
					has++
				}
			}
			if s.Count(n) != has || (s.Check(Plan{Specs: make([]Spec, n)}) == nil) != (has > 0 || s.Whole()) {
				t.Fatalf("shard %s of %d cases has %d, and says %d", s, n, has, s.Count(n))
			}
		}
	})
}

func TestParseShard(t *testing.T) {
	for text, want := range map[string]Shard{"": {1, 1}, "1/1": {1, 1}, "3/4": {3, 4}} {
		must.Equal(t, must.Get(ParseShard(text))(t), want, text)
	}
	for _, text := range []string{"0/4", "5/4", "2", "a/b", "1/0", "-1/2", "1/2/3"} {
		must.Fail(t, must.ErrorOf(ParseShard(text)), text, "was taken")
	}
}
