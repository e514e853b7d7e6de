package compare

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/shimquake/shimquake/failpoints/weave"
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
