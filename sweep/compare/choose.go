package compare

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/shimquake/shimquake/failpoints/weave"
	"github.com/shimquake/shimquake/sweep/journal"
)

// Difference is how the sources of two containerds differ.
type Difference struct {
	// Functions are the functions with probes whose source differs, or whose package has
	// other declarations that do: "containerd runtime.binary.Start".
	Functions []string `json:"functions"`
	// Unwoven are the other functions and packages that differ. A run does not tell
	// whether it reaches them, so every case runs.
	Unwoven []string `json:"unwoven,omitempty"`
}

// Source is the source of one containerd.
type Source struct {
	Statements []weave.Statement
	Functions  weave.Functions
}

// DifferenceOf compares two sources. A function that only one of them has counts with its
// callers, whose source differs, too.
func DifferenceOf(a, b Source) Difference {
	if len(a.Functions) == 0 || len(b.Functions) == 0 {
		return Difference{Unwoven: []string{"a containerd without probes"}}
	}
	differs := func(key string) bool { return a.Functions[key] != b.Functions[key] }
	probed, woven := map[string]bool{}, map[string]bool{}
	var d Difference
	for _, st := range slices.Concat(a.Statements, b.Statements) {
		probed[st.Key()], woven[st.Package] = true, true
		name := st.Who + " " + st.Function
		if (differs(st.Key()) || differs(st.Package+".")) && !slices.Contains(d.Functions, name) {
			d.Functions = append(d.Functions, name)
		}
	}
	for _, all := range []weave.Functions{a.Functions, b.Functions} {
		for key := range all {
			folder, name := key[:strings.LastIndexByte(key, '/')+1], key[strings.LastIndexByte(key, '/')+1:]
			pkg, function, _ := strings.Cut(name, ".")
			known := woven[folder+pkg] && (function == "" || probed[key] || a.Functions[key] == "" || b.Functions[key] == "")
			if differs(key) && !known && !slices.Contains(d.Unwoven, key) {
				d.Unwoven = append(d.Unwoven, key)
			}
		}
	}
	slices.Sort(d.Functions)
	slices.Sort(d.Unwoven)
	return d
}

// Choose returns the indexes of the cases to run. The run of such a case on A reached a
// function that differs. Cases without a run and cases of the catalogue run, too, and a
// share of the others, which the seed draws. With all, Choose returns every case.
func (d Difference) Choose(a journal.Head, results []journal.Result, all bool, share float64, seed uint64) (
	chosen []int, sampled int) {
	ran := map[int]journal.Result{}
	for _, r := range journal.Own(results) {
		ran[r.I] = r
	}
	random := rand.New(rand.NewPCG(seed, seed))
	for i, s := range a.Plan.Specs {
		if !a.Shard.Has(i) {
			continue
		}
		r, ok := ran[i]
		reached := slices.ContainsFunc(d.Functions, func(f string) bool { return a.Reached(r, f) })
		drawn := random.Float64() < share // for each case, so that a seed draws the same cases
		switch {
		case all || len(d.Unwoven) > 0 || !ok || reached || len(r.Met) == 0 || s.CaseName() != "":
		case drawn:
			sampled++
		default:
			continue
		}
		chosen = append(chosen, i)
	}
	return chosen, sampled
}

// String describes the difference in a line.
func (d Difference) String() string {
	text := fmt.Sprintf("functions with probes that differ: %d", len(d.Functions))
	if n := len(d.Unwoven); n > 0 {
		text += fmt.Sprintf("; without probes: %d (%s), so every case runs", n,
			strings.Join(d.Unwoven[:min(n, 3)], ", "))
	}
	return text
}
