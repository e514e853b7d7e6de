package scripts

import (
	"slices"
	"time"

	"pgregory.net/rapid"

	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/harness/model"
	"github.com/shimquake/shimquake/harness/script"
)

// longest is the number of steps of a long script that count.
const longest = 12

// limit is the time limit of a script whose calls have the default timeout. After a fault
// a step may wait for an end that does not come. Half of 18 scripts took 1.2 s, and the
// slowest 7 s.
const limit = 20 * time.Second

// The chance of a step is its weight. A refused step changes nothing, and a restart takes
// time.
const usual, seldom = 4, 1

// Long draws the workloads of long scripts. One step of five is concurrent with the next.
// The moment of Mark is between two steps. killed is the process that may be killed there
// or elsewhere; "": none. No step starts a running exec or deletes a created task: the
// short scripts show these bugs.
func Long(killed string) *rapid.Generator[harness.Workload] {
	all := covering()
	return rapid.Custom(func(t *rapid.T) harness.Workload {
		k := rapid.SampledFrom(kinds).Draw(t, "kind")
		p := prefix{kind: k, killed: killed, config: model.Config{Task: model.Process{State: k.from, Released: k.early}}}
		for range longest {
			next := p.following()
			if len(next) == 0 {
				break
			}
			p = rapid.SampledFrom(next).Draw(t, "step")
			if last := &p.all[p.last]; canOverlap(*last) && rapid.IntRange(0, 4).Draw(t, "concurrent") == 0 {
				last.Concurrent = true
			}
		}
		at := rapid.IntRange(0, len(p.all)).Draw(t, "mark")
		p.all = slices.Insert(slices.Clone(p.all), at, script.Step{Verb: script.Mark, Arg: Mark})
		fitting := slices.DeleteFunc(slices.Clone(all), func(r row) bool { return !p.can(r.workload().Containers[0]) })
		w := p.makeCase(rapid.SampledFrom(fitting).Draw(t, "properties").workload()).Workload
		if w.CallTimeout == 0 {
			w.TimeLimit = limit
		}
		return w
	})
}

// canOverlap reports whether the step may be concurrent with the next. Two uses of an id
// that begin at the same time would share their records.
func canOverlap(s script.Step) bool { return len(s.Of) > 0 && s.Verb != "create" && s.Verb != "add" }

// following returns the beginning with each possible next step, as often as its weight.
func (p prefix) following() (all []prefix) {
	for _, step := range tasks {
		next, ok := p.then(step)
		if !ok || next.twice || next.deletesCreated {
			continue
		}
		weight := usual
		if next.refused > p.refused || step.Verb == "restart" {
			weight = seldom
		}
		all = append(all, slices.Repeat([]prefix{next}, weight)...)
	}
	return all
}
