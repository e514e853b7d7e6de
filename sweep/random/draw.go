// Package random draws cases with several faults.
package random

import (
	"cmp"
	"slices"

	"pgregory.net/rapid"

	"github.com/shimquake/shimquake/failpoints"
	"github.com/shimquake/shimquake/failpoints/probe/term"
	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/sweep/plan"
	"github.com/shimquake/shimquake/sweep/scripts"
)

// maxFaults is the largest number of faults of a random plan.
const maxFaults = 4

// faults has the single faults of a plan by workload, action and path. Random plans are
// drawn from them.
type faults map[string]map[string]map[string][]plan.Fault

// New returns a function that draws a case from a seed, which must not be 0, and from
// the single faults of a plan. It uses only faults at hits that every trace has. The same
// seed and the same plan give the same case.
func New(base plan.Plan) (func(seed uint64) plan.Spec, error) {
	faults := faultsOf(base)
	if len(faults) == 0 {
		return nil, &plan.EmptyError{Filter: "--random", Before: len(base.Specs), Options: base.Options}
	}
	generator := faults.specs()
	return func(seed uint64) plan.Spec { return generator.Example(int(seed)) }, nil
}

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

// specs draws a case. One case of three is a random script with a fault. The others have
// a workload of the plan and up to maxFaults different faults, in the order of their
// paths.
func (fs faults) specs() *rapid.Generator[plan.Spec] {
	workloads, long := among(plan.WorkloadNames(), fs), fs.scripts()
	return rapid.Custom(func(t *rapid.T) plan.Spec {
		if rapid.IntRange(0, 2).Draw(t, "kind") == 0 {
			return long.Draw(t, "script")
		}
		s := plan.Spec{Workload: rapid.SampledFrom(workloads).Draw(t, "workload")}
		one := fault(fs[s.Workload])
		s.Faults = rapid.SliceOfNDistinct(one, 1, maxFaults, plan.Fault.HitKey).Draw(t, "faults")
		slices.SortStableFunc(s.Faults, func(a, b plan.Fault) int { return cmp.Compare(stage(a.Path), stage(b.Path)) })
		return s
	})
}

// kills are the faults at a script's `mark` step: SIGKILL to containerd or to the shim.
var kills = []plan.Fault{
	{Point: failpoints.MustPoint("proc:containerd:" + scripts.Mark), Nth: 1, Action: string(term.Kill), Path: "exit"},
	{Point: failpoints.MustPoint("proc:shim:" + scripts.Mark), Nth: 1, Action: string(term.Kill), Path: "exit"},
}

// scripts draws a long script with one fault. The fault is a kill at the script's mark,
// or a fault of the cheapest workload of tasks, which the script may not reach.
func (fs faults) scripts() *rapid.Generator[plan.Spec] {
	workloads := slices.DeleteFunc(among(plan.WorkloadNames(), fs), func(name string) bool {
		return plan.API(name) != harness.TaskAPI
	})
	long := map[string]*rapid.Generator[harness.Workload]{
		"containerd": scripts.Long("containerd"), "shim": scripts.Long("shim"),
	}
	return rapid.Custom(func(t *rapid.T) plan.Spec {
		f := rapid.SampledFrom(kills).Draw(t, "kill")
		if len(workloads) > 0 && rapid.Bool().Draw(t, "at a point") {
			f = fault(fs[workloads[0]]).Draw(t, "fault")
		}
		w := long[f.Point.Who].Draw(t, "workload")
		return plan.Spec{Workload: plan.OwnScript, Own: &w, Faults: []plan.Fault{f}}
	})
}

// fault draws one fault. Each action and each path is equally likely, however many points
// it has.
func fault(of map[string]map[string][]plan.Fault) *rapid.Generator[plan.Fault] {
	actions := among(plan.Actions, of)
	return rapid.Custom(func(t *rapid.T) plan.Fault {
		paths := of[rapid.SampledFrom(actions).Draw(t, "action")]
		path := rapid.SampledFrom(among(plan.Paths, paths)).Draw(t, "path")
		return rapid.SampledFrom(paths[path]).Draw(t, "point")
	})
}

// stage returns the position of a path in the order of time. "load" is first, because
// containerd loads before it serves a client.
func stage(path string) int {
	if path == "load" {
		return -1
	}
	return slices.Index(plan.Paths, path)
}

// among returns the keys of a map, in the given order.
func among[V any](order []string, in map[string]V) []string {
	return slices.DeleteFunc(slices.Clone(order), func(w string) bool {
		_, ok := in[w]
		return !ok
	})
}
