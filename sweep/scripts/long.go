package scripts

import (
	"slices"
	"time"

	"pgregory.net/rapid"

	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/harness/model"
	"github.com/shimquake/shimquake/harness/script"
)

// longest is the number of steps of a long script, without the steps that do not count
// (see Enumerate).
const longest = 12

// limit is the time limit of a long script. It is short, because a step may wait for an
// exit that never comes after a fault. Half of 18 scripts took up to 1.2 s, and the
// slowest took 7 s.
const limit = 20 * time.Second

// The weights of steps: a step is drawn with a probability in proportion to its weight.
// Refused steps are seldom because they change nothing, and restarts because they take
// time.
const usual, seldom = 4, 1

// Long draws the workloads of long scripts. One step of five is concurrent with the next.
// Each script has one step `mark` with Mark between two other steps. killed is the
// process that a fault of the case kills, or "". No step starts a running exec or deletes
// a created task, because the short scripts already show these bugs.
func Long(killed string) *rapid.Generator[harness.Workload] {
	all := covering()
	return rapid.Custom(func(t *rapid.T) harness.Workload {
		k := rapid.SampledFrom(kinds).Draw(t, "kind")
		p := prefix{kind: k, killed: killed}
		p.config.Task = model.Process{State: k.from, Released: k.early}
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

// canOverlap reports whether the step may be concurrent with the next. A create or an add
// may not, because two uses of an id that begin at the same time would share their
// records.
func canOverlap(s script.Step) bool { return len(s.Of) > 0 && s.Verb != "create" && s.Verb != "add" }

// following returns the prefix with each possible next step, repeated as often as the
// step's weight.
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
