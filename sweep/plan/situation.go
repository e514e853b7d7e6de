package plan

import (
	"maps"
	"slices"
	"strings"

	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/harness/model"
	"github.com/shimquake/shimquake/harness/script"
)

// situation describes the state in which a fault happens, as sorted features. The
// features are the client's path, the states of the step's containers and of the others,
// what happened before, and what the script does afterwards.
type situation []string

func (s situation) String() string { return strings.Join(s, ", ") }

// with returns the situation with one more feature.
func (s situation) with(feature string) situation {
	s = append(slices.Clone(s), feature)
	slices.Sort(s)
	return s
}

// distance returns the number of features that only one of two situations has.
func (s situation) distance(o situation) int {
	both := 0
	for _, f := range s {
		if slices.Contains(o, f) {
			both++
		}
	}
	return len(s) + len(o) - 2*both
}

// afterwards are the verbs that are features if they come after a fault, because these
// steps use what the fault left.
var afterwards = []string{"create", script.Exec, "execsync", "restart"}

// situations returns the situation of each hit of a workload.
type situations struct {
	workload harness.Workload
	steps    script.Script
	// before has the states of the objects before each step, as the model expects them.
	before []map[script.Object]string
}

func situationsOf(w harness.Workload) (situations, error) {
	steps, err := w.Steps()
	if err != nil {
		return situations{}, err
	}
	expected, err := model.Expect(w)
	if err != nil {
		return situations{}, err
	}
	all := situations{workload: w.WithDefaults(), steps: steps}
	now := map[script.Object]string{}
	for _, step := range expected {
		all.before = append(all.before, maps.Clone(now))
		for _, e := range step {
			now[e.Of] = strings.Join(e.States, " or ")
		}
	}
	return all, nil
}

// at returns the situation of a hit.
func (all situations) at(p Hit) situation {
	s := situation{"at " + p.Path}
	add := func(is bool, feature string) {
		if is {
			s = append(s, feature)
		}
	}
	add(all.workload.API == harness.CRI, "in a pod")
	add(all.workload.Grouped, "in one shim")
	add(all.workload.Bystander, "beside others")
	n := max(p.Step-1, 0)
	if p.Path == "load" {
		n = all.restart(p.Step)
	}
	if n >= 0 {
		step := all.steps[n]
		isOf := func(container int) bool {
			return step.Verb == "restart" ||
				slices.ContainsFunc(step.Of, func(o script.Object) bool { return o.Container == container })
		}
		for o, state := range all.before[n] {
			switch {
			case o == script.ThePod:
			case o.IsExec():
				add(true, "exec "+state)
			case isOf(o.Container):
				add(true, state)
			default:
				add(true, "other "+state)
			}
		}
		earlier, later := all.steps[:n], all.steps[n+1:]
		add(earlier.Uses("restart"), "restarted")
		add(earlier.Uses("delete") || earlier.Uses("remove"), "deleted before")
		add(inFlight(earlier), "another call")
		for _, verb := range afterwards {
			add(later.Uses(verb), "then "+verb)
		}
	}
	slices.Sort(s)
	return slices.Compact(s)
}

// restart returns the index of the step during which containerd starts. number is the
// number of the last step that began. restart returns -1 for the first start of
// containerd.
func (all situations) restart(number int) int {
	if number == 0 {
		return -1
	}
	for i := number - 1; i < len(all.steps); i++ {
		if all.steps[i].Verb == "restart" {
			return i
		}
	}
	return number - 1 // containerd has crashed
}

// inFlight reports whether a concurrent step has no `join` after it.
func inFlight(steps script.Script) (is bool) {
	for _, s := range steps {
		is = s.Concurrent || is && s.Verb != script.Join
	}
	return is
}
