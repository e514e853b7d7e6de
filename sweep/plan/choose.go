package plan

import (
	"cmp"
	"slices"
	"strings"

	"github.com/shimquake/shimquake/failpoints"
	"github.com/shimquake/shimquake/failpoints/probe/term"
)

// workloadHit is a hit that the options can choose for the sweep.
type workloadHit struct {
	Hit
	workload string
	after    *Fault // see Traces
}

// moment is the key by which hits are numbered: the point, and which of its hits an
// action counts (term.Moment).
type moment struct {
	failpoints.Point
	term.Moment
}

func (p Hit) counted() moment { return moment{p.Point, p.Moment} }

// Common returns the hits that every run has, in the order of the first run. A hit has
// the first of its paths in the runs. On a busy machine a process reaches a point late,
// but never before its cause.
func Common(runs [][]Hit) (out []Hit) {
	type hit struct {
		moment
		nth int
	}
	type found struct {
		runs, path int
		ending     bool
	}
	all := map[hit]found{}
	for _, run := range runs {
		for _, p := range run {
			f, path := all[hit{p.counted(), p.Nth}], slices.Index(Paths, p.Path)
			if f.runs == 0 {
				f.path = path
			}
			all[hit{p.counted(), p.Nth}] = found{f.runs + 1, min(f.path, path), f.ending || p.Ending}
		}
	}
	for _, p := range runs[0] {
		if f := all[hit{p.counted(), p.Nth}]; f.runs == len(runs) {
			p.Path, p.Ending = Paths[f.path], f.ending
			out = append(out, p)
		}
	}
	return out
}

// commonHits returns the hits that all runs of a workload have, the workloads by their
// costs and the hits by their points.
func commonHits(traces []Traces) (all []workloadHit) {
	traces = slices.Clone(traces)
	slices.SortStableFunc(traces, func(a, b Traces) int { return cmp.Compare(indexOf(a.Workload), indexOf(b.Workload)) })
	for _, t := range traces {
		hits := Common(t.Runs)
		slices.SortFunc(hits, func(a, b Hit) int {
			p, q := a.Point, b.Point
			return cmp.Or(cmp.Compare(p.Kind, q.Kind), cmp.Compare(p.Who, q.Who), cmp.Compare(p.What, q.What),
				cmp.Compare(p.Where, q.Where), cmp.Compare(a.Moment, b.Moment), cmp.Compare(a.Nth, b.Nth))
		})
		for _, p := range hits {
			all = append(all, workloadHit{p, t.Workload, t.After})
		}
	}
	return all
}

// processWord returns the word for a point's process: daemon or shim.
func processWord(p failpoints.Point) string { return strings.Replace(p.Who, "containerd", "daemon", 1) }

// choose applies the options' filters.
func choose(o Options, all []workloadHit) ([]workloadHit, error) {
	if len(all) == 0 {
		return nil, &EmptyError{Options: o.String()}
	}
	filters := []struct {
		name string
		keep func(workloadHit) bool
	}{
		{"--who " + strings.Join(o.Who, ","), func(c workloadHit) bool {
			return slices.Contains(o.Who, processWord(c.Point))
		}},
		{"--path " + strings.Join(o.Paths, ","), func(c workloadHit) bool { return slices.Contains(o.Paths, c.Path) }},
		{"without --points, the exclusion of timers", func(c workloadHit) bool {
			return o.Narrowed() != "" || !isTimed(c.Point)
		}},
		{o.Narrowed(), func(c workloadHit) bool { return o.Keeps(c.Point) }},
		{"--actions " + strings.Join(o.Actions, ","), func(c workloadHit) bool {
			return slices.ContainsFunc(o.Actions, c.Takes)
		}},
	}
	for _, f := range filters {
		before := len(all)
		all = slices.DeleteFunc(all, func(c workloadHit) bool { return !f.keep(c) })
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

// firstHits keeps the first hits of each point, or of each path to a point if eachPath is
// set. It keeps at most `most` of a group, or all if most is 0. If everyWorkload is not
// set, it takes them from the cheapest workload that has such hits. If most is 1, it
// prefers a hit during a client's call to a hit while containerd starts.
func firstHits(all []workloadHit, most int, eachPath, everyWorkload bool) (out []workloadHit) {
	type unit struct {
		moment
		path, workload string
	}
	units, order := map[unit][]workloadHit{}, []unit(nil)
	for _, c := range all {
		u := unit{moment: c.counted()}
		if eachPath {
			u.path = c.Path
		}
		if everyWorkload {
			u.workload = c.workload
		}
		if len(units[u]) == 0 {
			order = append(order, u)
		} else if units[u][0].workload != c.workload {
			continue // a cheaper workload has such hits
		}
		units[u] = append(units[u], c)
	}
	for _, u := range order {
		hits := units[u]
		called := slices.IndexFunc(hits, func(c workloadHit) bool { return c.Path != "load" })
		if most == 1 && called > 0 {
			hits = hits[called:]
		}
		if most > 0 {
			hits = hits[:min(most, len(hits))]
		}
		out = append(out, hits...)
	}
	return out
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
