package scripts

import (
	"slices"

	"github.com/shimquake/shimquake/harness"
)

// property is a property of the container c0 or of a second container, its neighbour.
// Each of its values is a function that changes a workload, which has only c0 at first.
type property []func(*harness.Workload)

// unchanged is the value of a property that changes nothing.
func unchanged(*harness.Workload) {}

// of returns a value of a property that changes c0.
func of(set func(*harness.Container)) func(*harness.Workload) {
	return func(w *harness.Workload) { set(&w.Containers[0]) }
}

// beside returns a value of a property that adds a neighbour with a shim of its own. They
// do not share a shim, because on a busy machine two containers of one group may get two
// shims by chance. A restart of containerd then ends one of them
// (second-shim-of-a-group).
func beside(neighbour harness.Container) func(*harness.Workload) {
	return func(w *harness.Workload) { w.Containers = append(w.Containers, neighbour) }
}

// absent is a container whose command does not exist, so containerd refuses to create it.
var absent = harness.Container{NoSuchCommand: true}

// properties are the properties whose values are distributed over the scripts.
var properties = []property{
	{ // the end
		of(func(c *harness.Container) { c.Exit = 7 }),
		of(func(c *harness.Container) { c.Exit = 0 }),
		of(func(c *harness.Container) { c.Signal = "SIGTERM" }),
		of(func(c *harness.Container) { c.Segfault = harness.SegfaultBare }),
		of(func(c *harness.Container) { c.Signal, c.IgnoresTerm = "SIGTERM", true }),
	},
	{ // the input and the outputs
		of(func(c *harness.Container) { c.Lines = 200 }),
		unchanged,
		of(func(c *harness.Container) { c.TTY, c.Lines = true, 200 }),
		of(func(c *harness.Container) { c.Stdin = 200 }),
		of(func(c *harness.Container) { c.Log, c.Lines = harness.LogBinary, 200 }),
	},
	{ // the neighbour
		unchanged,
		beside(harness.Container{Exit: 5, Stays: true}),
		beside(absent),
	},
	{unchanged, of(func(c *harness.Container) { c.Memory = 64 })},
	{unchanged, of(func(c *harness.Container) { c.Children = 2 })},
	{unchanged, of(func(c *harness.Container) { c.SharedPID = true })},
}

// row has the index of a value of each property.
type row []int

// workload returns a workload with the values.
func (r row) workload() harness.Workload {
	w := harness.Workload{Containers: []harness.Container{{}}}
	for p, value := range r {
		properties[p][value](&w)
	}
	return w
}

// rows returns all combinations of values that a case can have.
func rows() (all []row) {
	r := make(row, len(properties))
	for {
		w := r.workload()
		w.Script = []string{"create all"}
		if (harness.Case{Name: "properties", Workload: w}).Check() == nil {
			all = append(all, slices.Clone(r))
		}
		p := len(r) - 1
		for ; p >= 0; p-- {
			if r[p]++; r[p] < len(properties[p]) {
				break
			}
			r[p] = 0
		}
		if p < 0 {
			return all
		}
	}
}

// pair is a value of one property and a value of another.
type pair struct{ p, value, other, otherValue int }

// pairs returns the pairs of values in a row.
func (r row) pairs() (all []pair) {
	for p := range r {
		for other := p + 1; other < len(r); other++ {
			all = append(all, pair{p, r[p], other, r[other]})
		}
	}
	return all
}

// covering returns a few combinations with each pair of values that a case can have. It
// takes the combination with the most missing pairs until no pair is missing.
func covering() (chosen []row) {
	all, missing := rows(), map[pair]bool{}
	for _, r := range all {
		for _, p := range r.pairs() {
			missing[p] = true
		}
	}
	for len(missing) > 0 {
		var best row
		most := 0
		for _, r := range all {
			n := 0
			for _, p := range r.pairs() {
				if missing[p] {
					n++
				}
			}
			if n > most {
				best, most = r, n
			}
		}
		for _, p := range best.pairs() {
			delete(missing, p)
		}
		chosen = append(chosen, best)
	}
	return chosen
}
