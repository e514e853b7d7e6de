package random

import (
	"cmp"
	"slices"

	"pgregory.net/rapid"

	"github.com/shimquake/shimquake/sweep/plan"
)

// mostFaults is how many faults a random plan has at most.
const mostFaults = 4

// faults are the single faults of a plan, by workload, action and path: what random plans
// are drawn from.
type faults map[string]map[string]map[string][]plan.Fault

func faultsOf(base plan.Plan) faults {
	all := faults{}
	for _, s := range base.Specs {
		if s.Unsteady || len(s.Faults) > 1 {
			continue
		}
		f := s.Last()
		if all[s.Workload] == nil {
			all[s.Workload] = map[string]map[string][]plan.Fault{}
		}
		actions := all[s.Workload]
		if actions[f.Word()] == nil {
			actions[f.Word()] = map[string][]plan.Fault{}
		}
		actions[f.Word()][f.Path] = append(actions[f.Word()][f.Path], f)
	}
	return all
}

// specs draw a case: a workload, and up to mostFaults different faults in it, in the
// order in which their paths come.
func (fs faults) specs() *rapid.Generator[plan.Spec] {
	workloads := among(plan.WorkloadNames(), fs)
	return rapid.Custom(func(t *rapid.T) plan.Spec {
		s := plan.Spec{Workload: rapid.SampledFrom(workloads).Draw(t, "workload")}
		one := fault(fs[s.Workload])
		s.Faults = rapid.SliceOfNDistinct(one, 1, mostFaults, plan.Fault.Meeting).Draw(t, "faults")
		slices.SortStableFunc(s.Faults, func(a, b plan.Fault) int { return cmp.Compare(stage(a.Path), stage(b.Path)) })
		return s
	})
}

// fault draws one fault: each action and each path alike, however many points it has.
func fault(of map[string]map[string][]plan.Fault) *rapid.Generator[plan.Fault] {
	actions := among(plan.Actions, of)
	return rapid.Custom(func(t *rapid.T) plan.Fault {
		paths := of[rapid.SampledFrom(actions).Draw(t, "action")]
		path := rapid.SampledFrom(among(plan.Paths, paths)).Draw(t, "path")
		return rapid.SampledFrom(paths[path]).Draw(t, "point")
	})
}

// stage is when something happens on a path: containerd loads before anything else.
func stage(path string) int {
	if path == "load" {
		return -1
	}
	return slices.Index(plan.Paths, path)
}

// among are the words that a map has, in the order in which they stand.
func among[V any](order []string, in map[string]V) []string {
	return slices.DeleteFunc(slices.Clone(order), func(w string) bool {
		_, ok := in[w]
		return !ok
	})
}
