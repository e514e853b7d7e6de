package plan

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/shimquake/shimquake/failpoints"
	"github.com/shimquake/shimquake/failpoints/probe/term"
)

// candidate is a hit that the options can choose for the sweep.
type candidate struct {
	Hit
	workload string
	unsteady bool
	after    *Fault // see Traces
}

// moment is the key by which hits are numbered: the point, and which of its hits an
// action counts (term.Moment).
type moment struct {
	failpoints.Point
	term.Moment
}

func (p Hit) counted() moment { return moment{p.Point, p.Moment} }

// compare orders moments by the points' names.
func (m moment) compare(o moment) int {
	return cmp.Or(strings.Compare(m.Point.String(), o.Point.String()), cmp.Compare(m.Moment, o.Moment))
}

// candidates returns the hits of all workloads, each once, in a fixed order. The path of
// a hit may differ between traces: the path of most traces counts.
func candidates(traces []Traces) []candidate {
	type hit struct {
		moment
		nth int
	}
	var all []candidate
	for _, t := range traces {
		byPath, ending := map[hit]map[string][]Hit{}, map[hit]bool{}
		for _, run := range t.Runs {
			for _, p := range run {
				h := hit{p.counted(), p.Nth}
				if byPath[h] == nil {
					byPath[h] = map[string][]Hit{}
				}
				byPath[h][p.Path] = append(byPath[h][p.Path], p)
				ending[h] = ending[h] || p.Ending
			}
		}
		sure := sureHits(t.Runs)
		for h, paths := range byPath {
			count, p := 0, Hit{}
			for _, path := range slices.Sorted(maps.Keys(paths)) {
				if p.Path == "" || len(paths[path]) > len(paths[p.Path]) {
					p = paths[path][0]
				}
				count += len(paths[path])
			}
			unsteady := count < len(t.Runs) || h.nth > sure[h.moment]
			p.Ending = ending[h]
			all = append(all, candidate{p, t.Workload, unsteady, t.After})
		}
	}
	slices.SortFunc(all, candidate.compare)
	return all
}

// compare orders hits by the costs of their workloads, and then by their points.
func (c candidate) compare(o candidate) int {
	return cmp.Or(cmp.Compare(indexOf(c.workload), indexOf(o.workload)),
		c.counted().compare(o.counted()), cmp.Compare(c.Nth, o.Nth))
}

// sureHits returns how many hits of each point to expect in every run. This is the
// minimum of the traces, less the difference between the maximum and the minimum. A loop
// that ran 7 to 9 times has 5 sure hits, because a later run may have fewer than 7. The
// first hit is sure if every trace has it.
func sureHits(runs [][]Hit) map[moment]int {
	least, most := map[moment]int{}, map[moment]int{}
	for i, run := range runs {
		of := map[moment]int{}
		for _, p := range run {
			of[p.counted()]++
		}
		for p, n := range of {
			if i == 0 {
				least[p] = n
			}
			most[p] = max(most[p], n)
		}
		for p := range most {
			least[p] = min(least[p], of[p])
		}
	}
	sure := map[moment]int{}
	for p, n := range least {
		sure[p] = max(n-(most[p]-n), min(n, 1))
	}
	return sure
}

// processWord returns the word for a point's process: daemon or shim.
func processWord(p failpoints.Point) string { return strings.Replace(p.Who, "containerd", "daemon", 1) }

// choose applies the options' filters.
func choose(o Options, all []candidate) ([]candidate, error) {
	if len(all) == 0 {
		return nil, &EmptyError{Options: o.String()}
	}
	filters := []struct {
		name string
		keep func(candidate) bool
	}{
		{"--who " + strings.Join(o.Who, ","), func(c candidate) bool {
			return slices.Contains(o.Who, processWord(c.Point))
		}},
		{"--path " + strings.Join(o.Paths, ","), func(c candidate) bool { return slices.Contains(o.Paths, c.Path) }},
		{"without --points, the exclusion of timers", func(c candidate) bool {
			return o.Narrowed() != "" || !isTimed(c.Point)
		}},
		{o.Narrowed(), func(c candidate) bool { return o.Keeps(c.Point) }},
		{"--actions " + strings.Join(o.Actions, ","), func(c candidate) bool {
			return slices.ContainsFunc(o.Actions, c.Takes)
		}},
	}
	for _, f := range filters {
		before := len(all)
		all = slices.DeleteFunc(all, func(c candidate) bool { return !f.keep(c) })
		if len(all) == 0 {
			return nil, &EmptyError{Filter: f.name, Before: before, Options: o.String()}
		}
	}
	most, err := o.hits()
	if err != nil {
		return nil, err
	}
	return firstHits(all, most, o.Hits != "first", o.EveryWorkload), nil
}

// unit is the key of a group of hits from which firstHits chooses. A group has the hits
// of a point on one path, or on all paths ("").
type unit struct {
	moment
	path, workload string
}

// bare returns the unit without its workload.
func (u unit) bare() unit {
	u.workload = ""
	return u
}

// firstHits keeps the first hits of each point, or of each path to a point if eachPath is
// set. It keeps at most `most` of a group, or all if most is 0. If everyWorkload is not
// set, it takes them from the cheapest workload that has such hits.
//
// If most is 1, it prefers a hit that every trace has. A workload with such a hit comes
// before a cheaper one without. It also prefers a hit during a client's call to a hit
// while containerd starts.
func firstHits(all []candidate, most int, eachPath, everyWorkload bool) []candidate {
	units := map[unit][]candidate{}
	for _, c := range all {
		u := unit{c.counted(), c.Path, c.workload}
		if !eachPath {
			u.path = ""
		}
		units[u] = append(units[u], c)
	}
	keys := slices.SortedFunc(maps.Keys(units), func(a, b unit) int {
		return cmp.Or(cmp.Compare(indexOf(a.workload), indexOf(b.workload)), a.compare(b.moment),
			cmp.Compare(slices.Index(Paths, a.path), slices.Index(Paths, b.path)))
	})
	best := cheapest(keys, units)
	var out []candidate
	for _, u := range keys {
		if !everyWorkload && best[u.bare()] != u.workload {
			continue
		}
		hits := units[u]
		if most == 1 {
			slices.SortStableFunc(hits, func(a, b candidate) int {
				return cmp.Or(compareBools(a.unsteady, b.unsteady), compareBools(a.Path == "load", b.Path == "load"))
			})
		}
		if most > 0 {
			hits = hits[:min(most, len(hits))]
		}
		out = append(out, hits...)
	}
	return out
}

// cheapest returns the workload for each unit: the first workload with a hit that every
// trace has. If there is none, it is the first workload.
func cheapest(keys []unit, units map[unit][]candidate) map[unit]string {
	best := map[unit]string{}
	for _, wantSteady := range []bool{true, false} {
		for _, u := range keys {
			steady := slices.ContainsFunc(units[u], func(c candidate) bool { return !c.unsteady })
			if best[u.bare()] == "" && steady == wantSteady {
				best[u.bare()] = u.workload
			}
		}
	}
	return best
}

// compareBools orders false before true.
func compareBools(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	}
	return 1
}
