package plan

import (
	"cmp"
	"slices"
	"time"

	"github.com/shimquake/shimquake/failpoints"
	"github.com/shimquake/shimquake/failpoints/probe/term"
	"github.com/shimquake/shimquake/harness"
)

// The default sweep has the first hit of each point, in the cheapest workload. It adds a
// case at each point that only another workload reaches, and a sample of the other points
// of each workload. It also adds calls that fail twice (see failTwice), and errors after
// the death of a shim (see failAfterDeath).
const (
	// sampled is the number of cases of a workload's sample.
	sampled = 8
	// maxNth is the largest number of their hits. The second hit often differs from the
	// first one: it is of another object, or after a restart.
	maxNth = 2
	// furtherRuns is the number of traces of a workload that is traced only for these
	// cases.
	furtherRuns = 2
	// furtherLimit is the time limit of such a workload.
	furtherLimit = time.Minute
)

// further returns the workloads that are traced only for these cases. It returns none for
// a sweep that is not a part of the default sweep. It omits a workload whose calls race,
// because its trace can be violated without a fault.
func (o Options) further() (names []string) {
	if !o.hasDefaultHits() {
		return nil
	}
	for _, w := range workloads {
		if w.Asked && w.Workload.TimeLimit <= furtherLimit && !w.Races {
			names = append(names, w.Name)
		}
	}
	return names
}

// death returns the crash of a shim after which the hits are traced, too. The crash is at
// the first call to the shim after the exit of its container, in the cheapest workload of
// tasks. There is none for a sweep that is not a part of the default sweep.
func (o Options) death(traces []Traces) []Spec {
	i := slices.IndexFunc(traces, func(t Traces) bool { return API(t.Workload) == harness.TaskAPI })
	if i < 0 || !o.hasDefaultHits() {
		return nil
	}
	all := commonHits(traces[i : i+1])
	slices.SortStableFunc(all, func(a, b workloadHit) int { return cmp.Compare(a.Step, b.Step) })
	n := slices.IndexFunc(all, func(c workloadHit) bool {
		// The number of a shim's events differs between runs.
		serves := c.Moment == AtMethod && c.Point.Who == "shim" && c.Point.Service() != "Events"
		return serves && c.Path == "exit" && !c.Ending
	})
	if n < 0 {
		return nil
	}
	return []Spec{Single(all[n].Hit, "crash", all[n].workload)}
}

// furtherSpecs returns the cases that the default sweep adds. own has the traces of the
// sweep's workloads, and all has the other traces, too. If the sweep is a part of the
// default sweep, furtherSpecs returns only the cases with its processes and actions.
func (o Options) furtherSpecs(own, all []Traces) (out []Spec) {
	if len(own) == len(all) {
		return nil
	}
	whole := Options{}.WithDefaults()
	var first, rest, after []workloadHit // of the default workloads, of the others, and after a death
	for _, c := range commonHits(all) {
		switch {
		case c.Nth > maxNth || c.Ending || isTimed(c.Point) || !slices.ContainsFunc(whole.Actions, c.Takes):
		case c.after != nil:
			after = append(after, c)
		case slices.Contains(whole.Workloads, c.workload):
			first = append(first, c)
		default:
			rest = append(rest, c)
		}
	}
	add := func(c workloadHit, times int, actions ...string) {
		do := c.anyFault(actions)
		if slices.Contains(o.Who, processWord(c.Point)) && slices.Contains(o.Actions, wordOf(do)) {
			out = append(out, c.further(do, times))
		}
	}
	for _, c := range sample(first, rest) {
		add(c, 1, whole.Actions...)
	}
	for _, c := range failTwice(first) {
		add(c, 2, string(term.Error))
	}
	for _, c := range failAfterDeath(after) {
		add(c, 1, string(term.Error))
	}
	return out
}

// further returns the case in which the action happens at the hit. After the death of a
// shim the case is thorough, because the dead shim's files then meet a shim of the same
// runtime.
func (c workloadHit) further(do string, times int) Spec {
	spec := Single(c.Hit, do, c.workload)
	if c.after != nil {
		spec = Spec{Workload: c.workload, Faults: []Fault{*c.after}}.Then(c.Hit, do)
	}
	if times > 1 {
		spec.Faults[len(spec.Faults)-1].Times = times
	}
	spec.Further = true
	spec.Thorough = API(c.workload) == harness.TaskAPI &&
		slices.ContainsFunc(spec.Faults, func(f Fault) bool { return f.Kills() && f.Point.Who == "shim" })
	return spec
}

// sample returns a hit of each point that only the hits of `rest` have, and some hits of
// each of their workloads. These are of different functions, in the order of a hash, so
// that a few other hits change few cases.
func sample(have, rest []workloadHit) (out []workloadHit) {
	points := map[failpoints.Point]bool{}
	for _, c := range have {
		points[c.Point] = true
	}
	slices.SortStableFunc(rest, func(a, b workloadHit) int {
		return cmp.Or(cmp.Compare(indexOf(a.workload), indexOf(b.workload)), cmp.Compare(a.hash(), b.hash()))
	})
	type function struct{ workload, who, name string }
	functions, count := map[function]bool{}, map[string]int{}
	for _, c := range rest {
		f := function{c.workload, c.Point.Who, c.Point.What}
		switch {
		case !points[c.Point]:
			points[c.Point] = true
			out = append(out, c)
		case !functions[f] && count[c.workload] < sampled:
			count[c.workload]++
			functions[f] = true
			out = append(out, c)
		}
	}
	return out
}

// hash returns a number by which a sample orders its hits.
func (c workloadHit) hash() uint64 { return Single(c.Hit, "", c.workload).Order() }

// anyFault returns one of the faults that can happen at the hit. The choice depends on
// the hit alone.
func (c workloadHit) anyFault(actions []string) string {
	var all []string
	for _, action := range actions {
		all = append(all, c.faults(action)...)
	}
	return slices.MinFunc(all, func(a, b string) int {
		return cmp.Compare(Single(c.Hit, a, c.workload).Order(), Single(c.Hit, b, c.workload).Order())
	})
}

// failTwice returns a hit of each function with calls that no client's request waits for:
// the request's end would not end them. containerd or the shim has to repeat such a call
// itself. It repeats no call of its own start.
func failTwice(have []workloadHit) (out []workloadHit) {
	type call struct {
		workload string
		failpoints.Point
	}
	requested := map[call]bool{}
	for _, c := range have {
		if c.Moment == term.AtCancel {
			requested[call{c.workload, c.Point}] = true
		}
	}
	type function struct{ who, name string }
	seen := map[function]bool{}
	for _, c := range have {
		f := function{c.Point.Who, c.Point.What}
		starts := c.Path == "load" || c.Path == "create" && c.Point.Who == "shim"
		if starts || seen[f] || c.Moment != term.AtCall || !c.Takes(string(term.Error)) ||
			requested[call{c.workload, c.Point}] {
			continue
		}
		seen[f] = true
		out = append(out, c)
	}
	return out
}

// failAfterDeath returns a hit of each call by which containerd and runc's shim clean up
// after the death of a shim.
func failAfterDeath(after []workloadHit) (out []workloadHit) {
	seen := map[failpoints.Point]bool{}
	for _, c := range after {
		cleans := slices.Contains(CleansUp, c.Point.What) || c.Point.What == shimStops
		if cleans && !seen[c.Point] && c.Takes(string(term.Error)) {
			seen[c.Point] = true
			out = append(out, c)
		}
	}
	return out
}

// wordOf returns the word of --actions that plans this fault.
func wordOf(do string) string {
	switch w := word(do); w {
	case "loseResult":
		return "error"
	case "deadline":
		return "hang"
	default:
		return w
	}
}
