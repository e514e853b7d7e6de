package plan

import (
	"fmt"
	"slices"
	"time"
)

// The default sweep has the first hit of each point, in the cheapest workload. It adds
// cases at the same points in other situations, and at points that only other workloads
// reach.
const (
	furtherCases = 600
	// furtherRuns is the number of traces of a workload that is traced only for these
	// cases.
	furtherRuns = 2
	// furtherLimit is the time limit of such a workload.
	furtherLimit = time.Minute
	// absent is the distance of a situation if the plan has no case at the point.
	absent = 6
)

// further returns the workloads that are traced only for their situations. It returns
// none for a sweep that is not a part of the default sweep. It omits the workload with
// two concurrent Deletes, because they race: a trace can be violated without a fault.
func (o Options) further() (names []string) {
	if !o.hasDefaultHits() {
		return nil
	}
	for _, w := range workloads {
		if w.asked && w.TimeLimit <= furtherLimit && w.name != "deleters" {
			names = append(names, w.name)
		}
	}
	return names
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

// furtherSpecs returns the cases that the default sweep adds in further situations. own
// has the traces of the sweep's workloads, and all has the traces of the other workloads,
// too. If the sweep is a part of the default sweep, furtherSpecs returns only the cases
// with its processes and actions.
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
	used := map[string]int{}
	for _, s := range farthest(have, rest, furtherCases) {
		do := s.leastUsed(whole.Actions, used)
		used[do]++
		if slices.Contains(o.Who, processWord(s.Point)) && slices.Contains(o.Actions, wordOf(do)) {
			spec := Single(s.Hit, do, s.workload)
			spec.Situation = s.situation.String()
			out = append(out, spec)
		}
	}
	return out, nil
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
		out[i] = situated{c, s, fmt.Sprint(c.Point.Who, " ", c.Moment, " ", s), absent}
	}
	return out, nil
}

// farthest chooses n of the hits, one after the other. It takes the hit whose situation
// differs most from the situations in which the plan already has its point. The more hits
// of a kind it has taken, the lower it ranks the others of this kind.
func farthest(have, rest []situated, n int) (out []situated) {
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
