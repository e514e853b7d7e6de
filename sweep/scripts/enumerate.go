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
	"github.com/shimquake/shimquake/oracle/finding"
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
	e.walk(prefix{config: model.Config{Task: model.Process{State: model.Running}}})
	return e.cases
}

type enumerator struct {
	length int
	cases  []harness.Case
}

// prefix is the beginning of a script.
type prefix struct {
	config  model.Config  // after it
	counted script.Script // the steps that count
	all     script.Script // all steps
	refused int           // steps that containerd refuses
	twice   bool          // an exec that runs is started
}

// walk goes on with each step that can come next.
func (e *enumerator) walk(p prefix) {
	if len(p.counted) == e.length {
		e.cases = append(e.cases, p.makeCase())
		return
	}
	for _, step := range alphabet {
		if next, ok := p.then(step); ok && next.refused <= mostRefused {
			e.walk(next)
		}
	}
}

// then returns the beginning with one more step that counts. It reports false for a step
// that changes nothing, and for a step with an unknown response.
func (p prefix) then(step script.Step) (prefix, bool) {
	of := task
	if len(step.Of) > 0 {
		of = step.Of[0]
	}
	if step.Verb == "end" && p.config.State(of) != model.Running {
		return p, false // the client alone does it: nothing can be refused
	}
	response, next := p.config.Do(model.Call{Verb: step.Verb, Of: of, Signal: step.Arg})
	switch {
	case response == "":
		return p, false
	case response != harness.Done:
		p.refused++
		p.twice = p.twice || step.Verb == "start" && of == exec && p.config.State(exec) == model.Running
	case next == p.config && step.Verb != "restart":
		return p, false
	}
	var ended []script.Object
	p.config, ended = next.Settled(0)
	p.counted = append(slices.Clone(p.counted), step)
	p.all = append(slices.Clone(p.all), step)
	for _, o := range ended {
		p.all = append(p.all, script.Step{Verb: "wait", Of: []script.Object{o}})
	}
	return p, true
}

// countedTwice is the bug exec-counted-twice, which a second start of an exec meets. The
// exit of the exec may come before the shim ends, which is harmless.
var countedTwice = harness.Bad{
	Releases: ">= 1.7.0", Issue: "no issue known: exec-counted-twice",
	By: finding.MustMatches("shim what=shim-ended exit=2"),
	May: finding.MustMatches("socket socket=silent", "event event=repeated topic=/tasks/exit of=exec",
		"event event=missing topic=/tasks/exit of=exec"),
}

func (p prefix) makeCase() harness.Case {
	var words []string
	for _, s := range p.counted {
		word := s.Verb
		if len(s.Of) > 0 && s.Of[0].IsExec() {
			word += ".e0"
		}
		words = append(words, word)
	}
	container := harness.Container{Execs: []harness.ExecSpec{{Stays: true}}}
	if p.all.Has("end", task) {
		container.Exit = 7
	} else {
		container.Stays = true
	}
	c := harness.Case{
		Name:  "script-" + strings.Join(words, "-"),
		About: fmt.Sprintf("An enumerated script of %d steps.", len(p.counted)),
		Workload: harness.Workload{
			Containers: []harness.Container{container},
			Script:     append([]string{"create c0", "start c0"}, p.all.Lines()...),
		},
	}
	if p.twice {
		c.Bad = []harness.Bad{countedTwice}
	}
	return c
}
