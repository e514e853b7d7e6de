package compare

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/shimquake/shimquake/failpoints"
	"github.com/shimquake/shimquake/failpoints/probe/term"
	"github.com/shimquake/shimquake/failpoints/weave"
	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/harness/script"
	"github.com/shimquake/shimquake/sweep/journal"
	"github.com/shimquake/shimquake/sweep/plan"
	"github.com/shimquake/shimquake/sweep/triage"
)

// Difference is how the sources of two containerds differ.
type Difference struct {
	// Functions are the functions with probes whose source differs, or whose package has a
	// variable or a type that does: "containerd runtime.binary.Start".
	Functions []string `json:"functions"`
	// Unwoven are the other functions and packages that differ. A run does not tell
	// whether it reaches them, so every case may.
	Unwoven []string `json:"unwoven,omitempty"`
}

// Source is the source of one containerd.
type Source struct {
	Statements []weave.Statement
	Functions  weave.Functions
}

// withoutProbes stands for all functions if one containerd has no probes (bin:).
const withoutProbes = "a containerd without probes"

// DifferenceOf compares two sources. A function that only one of them has counts with its
// callers, whose source differs, too.
func DifferenceOf(a, b Source) Difference {
	if len(a.Functions) == 0 || len(b.Functions) == 0 {
		return Difference{Unwoven: []string{withoutProbes}}
	}
	differs := func(key string) bool { return a.Functions[key] != b.Functions[key] }
	probed, woven, whole := map[string]bool{}, map[string]bool{}, map[string]bool{}
	for key := range a.Functions {
		pkg, name := split(key)
		whole[pkg] = whole[pkg] || differs(key) && (name == "" || weave.IsDeclared(name) && b.Functions[key] != "")
	}
	var d Difference
	for _, st := range slices.Concat(a.Statements, b.Statements) {
		probed[st.Key()], woven[st.Package] = true, true
		name := st.Who + " " + st.Function
		if (differs(st.Key()) || whole[st.Package]) && !slices.Contains(d.Functions, name) {
			d.Functions = append(d.Functions, name)
		}
	}
	for _, all := range []weave.Functions{a.Functions, b.Functions} {
		for key := range all {
			pkg, name := split(key)
			onlyOne := a.Functions[key] == "" || b.Functions[key] == ""
			known := woven[pkg] && (name == "" || probed[key] || weave.IsDeclared(name) || onlyOne) ||
				weave.IsDeclared(name) && onlyOne
			if differs(key) && !known && !slices.Contains(d.Unwoven, key) {
				d.Unwoven = append(d.Unwoven, key)
			}
		}
	}
	slices.Sort(d.Functions)
	slices.Sort(d.Unwoven)
	return d
}

// split returns the package of a key of [weave.Functions], and the name in it.
func split(key string) (pkg, name string) {
	folder := strings.LastIndexByte(key, '/') + 1
	pkg, name, _ = strings.Cut(key[folder:], ".")
	return key[:folder] + pkg, name
}

// Choose returns the indexes of the cases to run. Cases with a fault in a function that
// differs run, and so do cases without a run and cases of the catalogue. Of the other
// cases that reached such a function, one of each class runs. A class has the same
// workload, the same effect at the same time, and the same findings on A. A share of all
// others runs. The seed draws both. With all, or if one containerd has no probes, Choose
// returns every case.
func (d Difference) Choose(a journal.Head, results []journal.Result, all bool, share float64, seed uint64) (
	chosen []int, sampled int) {
	ran := map[int]journal.Result{}
	for _, r := range journal.Own(results) {
		ran[r.I] = r
	}
	random := rand.New(rand.NewPCG(seed, seed))
	classes := map[string]bool{}
	for _, i := range random.Perm(len(a.Plan.Specs)) {
		drawn := random.Float64() < share // for each case, so that a seed draws the same cases
		s, r := a.Plan.Specs[i], ran[i]
		if !a.Shard.Has(i) {
			continue
		}
		reaches := func(f string) bool { return a.Reached(r, f) }
		class := fmt.Sprint(s.Workload, s.Last().Path, triage.Kind(s, r))
		switch {
		case all || slices.Contains(d.Unwoven, withoutProbes) || len(r.Met) == 0 || s.CaseName() != "" || d.hasFaultOf(s):
		case !classes[class] && (len(d.Unwoven) > 0 || slices.ContainsFunc(d.Functions, reaches)):
			classes[class] = true
		case drawn:
			sampled++
		default:
			continue
		}
		chosen = append(chosen, i)
	}
	slices.Sort(chosen)
	return chosen, sampled
}

// stuckFor is how long a process is stuck. It is longer than CRI may take to learn of an
// exit (learnBound of package judge).
const stuckFor = 45 * time.Second

// gaveUpIn is the time limit of a client whose shim never answers. It is longer than
// containerd may take to load a shim (shim.load in [timeouts], 5 s).
const gaveUpIn = 20 * time.Second

// maxStuck limits the cases of Stuck.
const maxStuck = 16

// Stuck returns cases in which a process is stuck in the middle of a function that
// differs. The shim serves two containers, because a patch may let one wait for the
// other. A function that a task reaches has a case with tasks and one with a pod. If
// containerd runs such a function when it loads shims, their shim is stopped before a
// restart, and never answers again.
func (d Difference) Stuck(p plan.Plan) (all []plan.Spec) {
	of, tasks := map[string][]plan.Fault{}, map[string]bool{}
	for _, s := range p.Specs {
		f, api := s.Last(), plan.API(s.Workload)
		if api != "" && len(s.Faults) == 1 && f.Nth == 1 && f.Path != "load" && f.Point.Kind == failpoints.Stmt &&
			d.hasFaultOf(s) {
			of[f.Place()] = append(of[f.Place()], f)
			tasks[f.Place()] = tasks[f.Place()] || api == harness.TaskAPI
		}
	}
	two := []harness.Container{{Exit: 7}, {Exit: 5}}
	pods := func(steps []string) harness.Workload {
		return harness.Workload{API: harness.CRI, Containers: two, Script: steps}
	}
	tasksOf := func(steps []string) harness.Workload {
		return harness.Workload{API: harness.TaskAPI, Grouped: true, Containers: two, Script: steps}
	}
	add := func(w harness.Workload, f plan.Fault) {
		all = append(all, plan.Spec{Workload: plan.OwnScript, Own: &w, Faults: []plan.Fault{f}})
	}
	if slices.ContainsFunc(p.Specs, func(s plan.Spec) bool { return s.Last().Path == "load" && d.hasFaultOf(s) }) {
		stop := plan.Fault{Point: failpoints.MustPoint("proc:shim:running"), Action: string(term.Stop), Path: "load"}
		of := tasksOf(script.WithRunning("restart containerd"))
		inPod := pods(slices.Insert(slices.Clone(script.Pod), 5, "restart containerd"))
		of.TimeLimit, inPod.TimeLimit = gaveUpIn, gaveUpIn
		add(of, stop)
		add(inPod, stop)
	}
	for _, place := range slices.Sorted(maps.Keys(of)) {
		f := of[place][len(of[place])/2]
		f.Action = fmt.Sprintf("%s(%d)", term.Delay, stuckFor.Milliseconds())
		if add(pods(nil), f); tasks[place] {
			add(tasksOf(nil), f)
		}
	}
	return all[:min(len(all), maxStuck)]
}

// hasFaultOf reports whether a case has a fault in a function that differs.
func (d Difference) hasFaultOf(s plan.Spec) bool {
	return slices.ContainsFunc(s.Faults, func(f plan.Fault) bool { return slices.Contains(d.Functions, f.Place()) })
}

// String describes the difference in a line.
func (d Difference) String() string {
	text := fmt.Sprintf("functions with probes that differ: %d", len(d.Functions))
	if n := len(d.Unwoven); n > 0 {
		text += fmt.Sprintf("; without probes: %d (%s), which any case may reach", n,
			strings.Join(d.Unwoven[:min(n, 3)], ", "))
	}
	return text
}
