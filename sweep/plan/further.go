package plan

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/shimquake/shimquake/failpoints"
	"github.com/shimquake/shimquake/failpoints/probe/term"
	"github.com/shimquake/shimquake/harness"
)

// The default sweep has the first hit of each point, in the cheapest workload. It adds
// cases at the same points in other situations, and at points that only other workloads
// reach (see farthest). It also adds calls that fail twice (see failTwice), and errors
// after the death of a shim (see failAfterDeath).
const (
	situationCases = 450
	twiceCases     = 90
	deathCases     = 60
	// furtherRuns is the number of traces of a workload that is traced only for these
	// cases.
	furtherRuns = 2
	// furtherLimit is the time limit of such a workload.
	furtherLimit = time.Minute
	// absent is the distance of a situation if the plan has no case at the point.
	absent = 6
)

// further returns the workloads that are traced only for their situations. It returns
// none for a sweep that is not a part of the default sweep. It omits a workload whose
// calls race, because its trace can be violated without a fault.
func (o Options) further() (names []string) {
	if !o.hasDefaultHits() {
		return nil
	}
	for _, w := range workloads {
		if w.asked && w.TimeLimit <= furtherLimit && !w.races {
			names = append(names, w.name)
		}
	}
	return names
}

// deaths returns the crashes of a shim after which the hits are traced, too. These are
// the first call to a shim on each path, in the cheapest workload of tasks. Workloads of
// CRI are left out: three such cases of v2.4.2 left only what both faults leave together.
func (o Options) deaths(traces []Traces) (out []Spec) {
	if !o.hasDefaultHits() {
		return nil
	}
	i := slices.IndexFunc(traces, func(t Traces) bool { return API(t.Workload) == harness.TaskAPI })
	if i < 0 {
		return nil
	}
	all, died := candidates(traces[i:i+1]), map[string]bool{"load": true} // no shim is there at the first load
	slices.SortStableFunc(all, func(a, b candidate) int { return cmp.Compare(a.Step, b.Step) })
	for _, c := range all {
		// The number of a shim's events differs between runs.
		serves := c.Moment == AtMethod && c.Point.Who == "shim" && c.Point.Service() != "Events"
		if serves && !died[c.Path] && !c.unsteady && !c.Ending {
			died[c.Path] = true
			out = append(out, Single(c.Hit, "crash", c.workload))
		}
	}
	return out
}

// situated is a hit with its situation.
type situated struct {
	candidate
	situation situation
	// kind is the same for hits that differ in their points only.
	kind string
	// distance is the smallest distance to a situation in which the plan has the point.
	distance int
}

// furtherSpecs returns the cases that the default sweep adds. own has the traces of the
// sweep's workloads, and all has the other traces, too. If the sweep is a part of the
// default sweep, furtherSpecs returns only the cases with its processes and actions.
func (o Options) furtherSpecs(own, all []Traces) (out []Spec, err error) {
	if len(own) == len(all) {
		return nil, nil
	}
	whole := Options{}.WithDefaults()
	chosen, err := choose(whole, candidates(own))
	if err != nil {
		return nil, err
	}
	have, err := situate(chosen)
	if err != nil {
		return nil, err
	}
	rest, err := situate(slices.DeleteFunc(candidates(all), func(c candidate) bool {
		return c.unsteady || c.Ending || isTimed(c.Point) || !slices.ContainsFunc(whole.Actions, c.Takes)
	}))
	if err != nil {
		return nil, err
	}
	after := slices.DeleteFunc(slices.Clone(rest), func(s situated) bool { return s.after == nil })
	rest = slices.DeleteFunc(rest, func(s situated) bool { return s.after != nil })
	used := map[string]int{}
	add := func(s situated, actions []string, times int) {
		do := s.leastUsed(actions, used)
		used[do]++
		if slices.Contains(o.Who, processWord(s.Point)) && slices.Contains(o.Actions, wordOf(do)) {
			out = append(out, s.spec(do, times))
		}
	}
	for _, s := range farthest(have, rest, situationCases) {
		add(s, whole.Actions, 1)
	}
	for _, s := range spread(failTwice(have, own), twiceCases) {
		add(s, []string{string(term.Error)}, 2)
	}
	for _, s := range spread(failAfterDeath(after, own), deathCases) {
		add(s, []string{string(term.Error)}, 1)
	}
	return out, nil
}

// spec returns the case in which the action happens at the hit. After the death of a shim
// the case is thorough, because the dead shim's files then meet a shim of the same
// runtime.
func (s situated) spec(do string, times int) Spec {
	spec := Single(s.Hit, do, s.workload)
	if s.after != nil {
		spec = Spec{Workload: s.workload, Faults: []Fault{*s.after}}.Then(s.Hit, do)
	}
	if times > 1 {
		spec.Faults[len(spec.Faults)-1].Times = times
		s.situation = s.situation.with("again")
	}
	spec.Situation = s.situation.String()
	spec.Thorough = API(s.workload) == harness.TaskAPI &&
		slices.ContainsFunc(spec.Faults, func(f Fault) bool { return f.Kills() && f.Point.Who == "shim" })
	return spec
}

// failTwice returns the hits of calls that no client's request waits for: the request's
// end would not end them. containerd or the shim has to repeat such a call itself. It
// repeats no call of its own start.
func failTwice(have []situated, own []Traces) []situated {
	type call struct {
		workload string
		failpoints.Point
	}
	requested := map[call]bool{}
	for _, c := range candidates(own) {
		if c.Moment == term.AtCancel {
			requested[call{c.workload, c.Point}] = true
		}
	}
	return slices.DeleteFunc(slices.Clone(have), func(s situated) bool {
		starts := s.Path == "load" || s.Path == "create" && s.Point.Who == "shim"
		return starts || s.unsteady || s.Ending || s.Moment != term.AtCall || requested[call{s.workload, s.Point}]
	})
}

// failAfterDeath returns the hits of calls to which only the death of a shim leads. No
// run without a fault has them on the same path. The paths start and exit count as one,
// because the container's process may end before the response to Start.
func failAfterDeath(after []situated, own []Traces) []situated {
	type hit struct {
		workload, path string
		failpoints.Point
	}
	hitOf := func(c candidate) hit {
		if c.Path == "start" {
			c.Path = "exit"
		}
		return hit{c.workload, c.Path, c.Point}
	}
	faultless := map[hit]bool{}
	for _, c := range candidates(own) {
		faultless[hitOf(c)] = true
	}
	return slices.DeleteFunc(slices.Clone(after), func(s situated) bool {
		return !s.Takes(string(term.Error)) || faultless[hitOf(s.candidate)]
	})
}

// spread chooses n of the hits, and at most one of a point and a situation. Each function
// gets one hit before any function gets another.
func spread(all []situated, n int) (out []situated) {
	type function struct{ who, name string }
	turn := map[function]int{}
	turns := make([][]situated, len(all))
	for _, s := range distinctSituations(all) {
		f := function{s.Point.Who, s.Point.What}
		turns[turn[f]] = append(turns[turn[f]], s)
		turn[f]++
	}
	out = slices.Concat(turns...)
	return out[:min(n, len(out))]
}

func situate(all []candidate) ([]situated, error) {
	of := map[string]situations{}
	out := make([]situated, len(all))
	for i, c := range all {
		if _, ok := of[c.workload]; !ok {
			w, err := workloadNamed(c.workload)
			if err != nil {
				return nil, err
			}
			if of[c.workload], err = situationsOf(w.Workload); err != nil {
				return nil, err
			}
		}
		s := of[c.workload].at(c.Hit)
		if c.after != nil {
			s = s.with("shim died at " + c.after.Path)
		}
		out[i] = situated{c, s, fmt.Sprint(c.Point.Who, " ", c.Moment, " ", s), absent}
	}
	return out, nil
}

// farthest chooses n of the hits, one after the other. It takes the hit whose situation
// differs most from the situations in which the plan already has its point. The more hits
// of a kind it has taken, the lower it ranks the others of this kind.
func farthest(have, rest []situated, n int) (out []situated) {
	rest = distinctSituations(rest)
	byPoint, taken := map[moment][]*situated{}, map[string]int{}
	for i := range rest {
		byPoint[rest[i].counted()] = append(byPoint[rest[i].counted()], &rest[i])
	}
	take := func(s situated) {
		for _, r := range byPoint[s.counted()] {
			r.distance = min(r.distance, r.situation.distance(s.situation))
		}
	}
	for _, s := range have {
		take(s)
	}
	for len(out) < n {
		best, most := -1, 0.0
		for i, s := range rest {
			if score := float64(s.distance) / float64(1+taken[s.kind]); score > most {
				best, most = i, score
			}
		}
		if best < 0 { // the plan has each point in each situation
			break
		}
		s := rest[best]
		out = append(out, s)
		taken[s.kind]++
		take(s)
	}
	return out
}

// distinctSituations returns the first hit of each point in each situation.
func distinctSituations(all []situated) []situated {
	type key struct {
		moment
		situation string
	}
	seen := map[key]bool{}
	return slices.DeleteFunc(slices.Clone(all), func(s situated) bool {
		k := key{s.counted(), s.situation.String()}
		twice := seen[k]
		seen[k] = true
		return twice
	})
}

// leastUsed returns the least used of the faults that can happen at the hit. Of several,
// it returns the simplest.
func (s situated) leastUsed(actions []string, used map[string]int) (best string) {
	for _, action := range actions {
		for _, do := range s.faults(action) {
			if best == "" || used[do] < used[best] {
				best = do
			}
		}
	}
	return best
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
