package scripts

import (
	"fmt"
	"slices"
	"strings"

	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/harness/model"
	"github.com/shimquake/shimquake/harness/script"
)

// pods are the steps from which the scripts of a pod are made.
var pods = alphabet(script.CRI, script.ThePod, task, exec)

// All returns the cases of all scripts of a length, of a task and of a pod.
func All(length int) []harness.Case { return slices.Concat(Enumerate(length), Pods(length)) }

// Pods returns the cases of all scripts of a length of a pod with one container. They
// begin with a running container. The length does not include the three steps before
// that, nor the `wait` after the end of the container.
func Pods(length int) []harness.Case {
	running := model.Config{Pod: model.Ready, Task: model.Process{State: model.Running}}
	return podPrefix{steps{config: running}}.cases(length)
}

// podPrefix is the beginning of a script of a pod.
type podPrefix struct{ steps }

// cases returns the cases of all scripts of a length with this prefix.
func (p podPrefix) cases(length int) (all []harness.Case) {
	if len(p.counted) == length {
		return []harness.Case{p.makeCase()}
	}
	for _, step := range pods {
		if next, ok := p.then(step); ok && next.refused <= maxRefused {
			all = append(all, next.cases(length)...)
		}
	}
	return all
}

// then returns the prefix with one more step that counts. It returns false if the model
// does not know the step's response. A step that succeeds and changes nothing may only
// come first, or directly after an equal step.
func (p podPrefix) then(step script.Step) (podPrefix, bool) {
	of, verb := objectOf(step), step.Verb
	switch {
	case verb == "end" && p.config.Task.State != model.Running:
		return p, false // the client does this without a call, so containerd cannot refuse it
	case verb == "execsync" && p.counted.Has(verb, exec):
		return p, false // CRI's events do not distinguish two execs
	}
	response, next := p.config.Do(model.Call{Verb: script.CRICall(verb, of), Of: of})
	idle := response == harness.Done && next == p.config && step.Verb != "execsync" && step.Verb != "restart"
	if last := len(p.counted) - 1; idle && last >= 0 && step.String() != p.counted[last].String() {
		return p, false
	}
	return podPrefix{p.add(step, response, next)}, true
}

func (p podPrefix) makeCase() harness.Case {
	words := []string{"script-pod"}
	for _, s := range p.counted {
		word := s.Verb
		if len(s.Of) > 0 && s.Of[0] == script.ThePod {
			word += ".pod"
		}
		words = append(words, word)
	}
	container := harness.Container{Execs: []harness.ExecSpec{{Exit: 3}}}
	if container.Stays = !p.all.Has("end", task); !container.Stays {
		container.Exit = 7
	}
	return harness.Case{
		Name:  strings.Join(words, "-"),
		About: fmt.Sprintf("An enumerated script of %d steps.", len(p.counted)),
		Workload: harness.Workload{API: harness.CRI, Containers: []harness.Container{container},
			Script: append([]string{"run pod", "create c0", "start c0"}, p.all.Lines()...)},
	}
}
