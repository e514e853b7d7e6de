// Package scripts makes all short scripts over the verbs that change a state. The model
// knows the responses that they must get.
package scripts

import (
	"fmt"
	"slices"
	"strings"

	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/harness/model"
	"github.com/shimquake/shimquake/harness/script"
)

// Longest is the most steps of a script that is enumerated. Of length 4 there are some
// 2,000, of length 5 some 8,500.
const Longest = 5

var (
	task = script.Container(0)
	exec = script.ExecOf(0, 0)
)

// alphabet are the steps that scripts are made of.
var alphabet = []script.Step{
	{Verb: "create", Of: []script.Object{task}}, {Verb: "start", Of: []script.Object{task}},
	{Verb: "end", Of: []script.Object{task}}, {Verb: "kill", Of: []script.Object{task}, Arg: "SIGKILL"},
	{Verb: "delete", Of: []script.Object{task}},
	{Verb: "pause", Of: []script.Object{task}}, {Verb: "resume", Of: []script.Object{task}},
	{Verb: "add", Of: []script.Object{exec}}, {Verb: "start", Of: []script.Object{exec}},
	{Verb: "kill", Of: []script.Object{exec}, Arg: "SIGKILL"}, {Verb: "delete", Of: []script.Object{exec}},
	{Verb: "restart", Arg: "containerd"},
}

// mostRefused is how many steps of a script containerd refuses: two refusals in one
// script find what two scripts with one each find.
const mostRefused = 1

// Enumerate returns the cases of all scripts with so many steps. They begin with a
// running container, and with an exec that is not added yet. The two steps before that do
// not count. A wait that does not count stands behind each step that ends a process:
// without it the next step would race with the end.
func Enumerate(length int) []harness.Case {
	e := enumerator{length: length}
	start := model.Config{Task: model.Process{State: model.Running}}
	e.walk(start, nil, nil, 0)
	return e.cases
}

type enumerator struct {
	length int
	cases  []harness.Case
}

// walk goes on with each step that can come next. counted are the steps that count, and
// all are the others, too.
func (e *enumerator) walk(c model.Config, counted, all script.Script, refused int) {
	if len(counted) == e.length {
		e.cases = append(e.cases, makeCase(counted, all))
		return
	}
	for _, step := range alphabet {
		of := task
		if len(step.Of) > 0 {
			of = step.Of[0]
		}
		if step.Verb == "end" && c.State(of) != model.Running {
			continue // the client alone does it: nothing can be refused
		}
		response, next := c.Do(model.Call{Verb: step.Verb, Of: of, Signal: step.Arg})
		no := refused
		switch {
		case response != harness.Done:
			no++
		case next == c && step.Verb != "restart":
			continue
		}
		if response == "" || no > mostRefused {
			continue
		}
		next, ended := next.Settled(0)
		more := append(slices.Clone(all), step)
		for _, o := range ended {
			more = append(more, script.Step{Verb: "wait", Of: []script.Object{o}})
		}
		e.walk(next, append(slices.Clone(counted), step), more, no)
	}
}

func makeCase(counted, all script.Script) harness.Case {
	var words []string
	for _, s := range counted {
		word := s.Verb
		if len(s.Of) > 0 && s.Of[0].IsExec() {
			word += ".e0"
		}
		words = append(words, word)
	}
	container := harness.Container{Execs: []harness.ExecSpec{{Stays: true}}}
	if all.Has("end", task) {
		container.Exit = 7
	} else {
		container.Stays = true
	}
	return harness.Case{
		Name:  "script-" + strings.Join(words, "-"),
		About: fmt.Sprintf("An enumerated script of %d steps.", len(counted)),
		Workload: harness.Workload{
			Containers: []harness.Container{container},
			Script:     append([]string{"create c0", "start c0"}, all.Lines()...),
		},
	}
}
