package sweep

import (
	"cmp"
	"slices"

	"pgregory.net/rapid"
)

// mostFaults is how many faults a random plan has at most.
const mostFaults = mostOthers + 1

// deedsOf are the single faults of a plan, by workload, action and path: what random plans are drawn from. All lists are in a fixed order, the
// simplest first, because the first is what rapid shrinks to.
type deedsOf map[string]map[string]map[string][]Deed

func newDeedsOf(base Plan) deedsOf {
	all := deedsOf{}
	for _, s := range base.Specs {
		if s.Unsteady || s.Also != (Others{}) {
			continue
		}
		w := all[s.Workload]
		if w == nil {
			w = map[string]map[string][]Deed{}
			all[s.Workload] = w
		}
		a := w[word(s.Action)]
		if a == nil {
			a = map[string][]Deed{}
			w[word(s.Action)] = a
		}
		a[s.Path] = append(a[s.Path], Deed{s.Point, s.Nth, s.Action, s.Path, s.While})
	}
	return all
}

// random draws a case: a workload, and up to mostFaults different faults in it.
func (d deedsOf) random() *rapid.Generator[Spec] {
	names := among(WorkloadNames(), d)
	return rapid.Custom(func(t *rapid.T) Spec {
		workload := rapid.SampledFrom(names).Draw(t, "workload")
		deeds := rapid.SliceOfNDistinct(d.deed(workload), 1, mostFaults, Deed.moment).Draw(t, "faults")
		s := single(Pass{}, "", workload)
		slices.SortStableFunc(deeds, func(a, b Deed) int { return cmp.Compare(about(a.Path), about(b.Path)) })
		last := deeds[len(deeds)-1]
		s.Point, s.Nth, s.Action, s.Path = last.Point, last.Nth, last.Action, last.Path
		copy(s.Also[:], deeds[:len(deeds)-1])
		return s
	})
}

// about is when something happens on a path, for the order in which faults are told: containerd loads before anything else.
func about(path string) int {
	if path == "load" {
		return -1
	}
	return slices.Index(Paths, path)
}

// deed draws one fault in a workload: each action and each path alike, however many points it has.
func (d deedsOf) deed(workload string) *rapid.Generator[Deed] {
	of := d[workload]
	actions := among(simplest, of)
	return rapid.Custom(func(t *rapid.T) Deed {
		paths := of[rapid.SampledFrom(actions).Draw(t, "action")]
		path := rapid.SampledFrom(among(Paths, paths)).Draw(t, "path")
		return rapid.SampledFrom(paths[path]).Draw(t, "point")
	})
}

// moment is what two faults of a case cannot share: only one of them would be met.
func (d Deed) moment() Deed {
	return Deed{Point: d.Point, Nth: d.Nth, Action: string(momentOf[word(d.Action)])}
}

// among are the words that a map has, in the order in which they stand.
func among[V any](order []string, in map[string]V) []string {
	return slices.DeleteFunc(slices.Clone(order), func(w string) bool {
		_, ok := in[w]
		return !ok
	})
}
