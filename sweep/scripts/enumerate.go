// Package scripts makes all short scripts of the verbs that change a state. Package model
// knows which response each step must get.
package scripts

import (
	"fmt"
	"slices"
	"strings"

	"github.com/shimquake/shimquake/failpoints"
	"github.com/shimquake/shimquake/failpoints/probe/term"
	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/harness/model"
	"github.com/shimquake/shimquake/harness/script"
)

// Longest is the largest length of an enumerated script.
const Longest = 5

var (
	task = script.Container(0)
	exec = script.ExecOf(0, 0)
)

// tasks are the steps from which the scripts of a task are made.
var tasks = alphabet(script.Task, task, exec)

// alphabet returns the steps from which a client's scripts are made: the verbs of the
// model. It omits `wait`, which the enumerator adds after each step that ends a process.
// It omits the end of an exec, which the kind of script determines.
func alphabet(by script.Client, objects ...script.Object) (all []script.Step) {
	for _, of := range objects {
		for _, v := range script.Verbs {
			step := script.Step{Verb: v.Name, Of: []script.Object{of}}
			if v.Arg == script.SignalArg {
				step.Arg = "SIGKILL"
			}
			follows := v.Name == "wait" || v.Name == "end" && of.IsExec()
			if v.By&by != 0 && of.Is(v.ObjectKinds(by)) && v.NoRow == "" && !follows {
				all = append(all, step)
			}
		}
	}
	return append(all, script.Step{Verb: "restart", Arg: "containerd"})
}

// maxRefused is the largest number of a script's steps that containerd refuses. Two
// scripts with one refusal each find all that one script with two finds.
const maxRefused = 1

// Enumerate returns the cases of all scripts of a length. The length does not include
// steps that prepare the first step. It does not include the `wait` after each step that
// ends a process, either. Without this wait, the next step would race with the exit. The
// n-th script has the n-th combination of properties.
func Enumerate(length int) []harness.Case { return enumerate(length, false) }

// EnumerateKills returns the cases of all scripts of a length in which containerd or the
// shim is killed once. The kill counts as a step. It is a fault of the case's plan,
// because a run proves that such a fault happened.
func EnumerateKills(length int) []harness.Case { return enumerate(length, true) }

func enumerate(length int, kills bool) []harness.Case {
	e := enumerator{length: length, kills: kills, rows: covering()}
	for _, k := range kinds {
		task := model.Process{State: k.from, Released: k.early}
		e.walk(prefix{kind: k, steps: steps{config: model.Config{Task: task}}})
	}
	return e.cases
}

// kind is a kind of scripts: the state of the task in which they begin, and their
// processes.
type kind struct {
	name string // the kind's part of a case's name, "" for the first kind
	from model.State
	exec harness.ExecSpec
	// early is set if the container exits as soon as it is started.
	early bool
	// shorter is how many steps fewer than the requested length the scripts have.
	shorter int
	// has reports whether a script belongs to this kind, because no other kind has an
	// equal script.
	has func(prefix) bool
}

// kinds are the kinds of scripts.
var kinds = []kind{
	{from: model.Running, exec: harness.ExecSpec{Stays: true}, has: func(prefix) bool { return true }},
	{name: "created", from: model.Created, exec: harness.ExecSpec{Stays: true}, shorter: 1,
		has: func(p prefix) bool { return p.counted[0].Verb != "start" }},
	{name: "early", from: model.Created, exec: harness.ExecSpec{Stays: true}, early: true, shorter: 1,
		has: func(p prefix) bool { return p.counted.Has("start", task) }},
	{name: "exec-exits", from: model.Running, exec: harness.ExecSpec{Exit: 3},
		has: func(p prefix) bool { return p.starts }},
	{name: "exec-terminated", from: model.Running, exec: harness.ExecSpec{Signal: "SIGTERM"},
		has: func(p prefix) bool { return p.starts && p.counted.Has("kill", exec) }},
	{name: "exec-background", from: model.Running, exec: harness.ExecSpec{Exit: 9, LeavesChild: true},
		has: func(p prefix) bool { return p.starts && p.counted.Has("delete", exec) }},
	{name: "exec-absent", from: model.Running, exec: harness.ExecSpec{NoSuchCommand: true},
		has: func(p prefix) bool { return p.starts }},
}

// exits reports whether the exec ends as soon as it is started.
func (k kind) exits() bool { return !k.exec.Stays && k.exec.Signal == "" && !k.exec.NoSuchCommand }

// can reports whether the script can run with this container.
func (p prefix) can(c harness.Container) bool {
	writes := c.Lines > 0 || c.TTY || c.Stdin > 0
	switch {
	case (p.early || p.exits()) && c.Stdin > 0: // a process that exits at once reads no input
		return false
	case p.early && c.Signal != "", p.exec.LeavesChild && writes:
		return false
	case p.killed == "shim" && c.Stdin > 0: // the payload then exits because its input ends, so its exit status is lost
		return false
	case p.deletesCreated && writes: // the delete waits for harness.IODrain (Init.delete of process/init.go)
		return false
	case p.counted.Has("pause", task) && c.SharedPID:
		// On a hybrid cgroup v1, this container cannot be killed while it is paused. runc
		// writes cgroup.kill and does not thaw the container (signalAllProcesses of runc
		// v1.5.2).
		return false
	}
	return true
}

// call returns a step as a call of the model.
func (k kind) call(step script.Step, of script.Object) model.Call {
	c := model.Call{Verb: step.Verb, Of: of, Signal: step.Arg, AtOnce: k.early}
	if of.IsExec() {
		c.AtOnce, c.Absent = k.exits(), k.exec.NoSuchCommand
	}
	return c
}

type enumerator struct {
	length int
	kills  bool // set for EnumerateKills
	rows   []row
	next   int // the index of the row of the next script
	cases  []harness.Case
}

// steps are the first steps of a script.
type steps struct {
	config  model.Config  // the expected state after them
	counted script.Script // the steps that count
	all     script.Script // all steps
	refused int           // the number of steps that containerd refuses
}

// add returns the steps with one more that counts. It adds a `wait` for each process that
// the step ends.
func (s steps) add(step script.Step, response harness.Response, next model.Config) steps {
	if response != harness.Done {
		s.refused++
	}
	var ended []script.Object
	s.config, ended = next.Settled(0)
	s.counted = append(slices.Clone(s.counted), step)
	s.all = append(slices.Clone(s.all), step)
	for _, o := range ended {
		s.all = append(s.all, script.Step{Verb: "wait", Of: []script.Object{o}})
	}
	return s
}

// objectOf returns the object of a step. A step without one is about the whole script's
// task.
func objectOf(step script.Step) script.Object {
	if len(step.Of) > 0 {
		return step.Of[0]
	}
	return task
}

// prefix is the beginning of a script.
type prefix struct {
	kind
	steps
	last int // the index in all of the last step that counts.
	// starts is set if a step starts an exec for the first time.
	starts bool
	// twice is set if a step starts a running exec.
	twice bool
	// deletesCreated is set if a step deletes a task that was not started.
	deletesCreated bool
	// killed is the killed process, or "".
	killed string
}

// walk continues a script with each possible next step.
func (e *enumerator) walk(p prefix) {
	if len(p.counted) >= max(e.length-p.shorter, 1) {
		if p.has(p) && e.kills == (p.killed != "") {
			e.cases = append(e.cases, p.makeCase(e.workload(p)))
		}
		return
	}
	for _, step := range tasks {
		if next, ok := p.then(step); ok && next.refused <= maxRefused {
			e.walk(next)
		}
	}
	for _, process := range []string{"containerd", "shim"} {
		if next, ok := p.kill(process); e.kills && ok {
			e.walk(next)
		}
	}
}

// kill returns the prefix with a kill of the process added. After a kill of the shim, the
// client waits for the exit of the task.
func (p prefix) kill(process string) (prefix, bool) {
	if p.killed != "" || process == "shim" && p.config.Task.State == model.None {
		return p, false
	}
	at := script.Step{Verb: script.Mark, Arg: Mark}
	p.killed = process
	p.counted = append(slices.Clone(p.counted), at)
	p.all = append(slices.Clone(p.all), at)
	if process == "shim" {
		p.config = model.Config{}
		p.all = append(p.all, script.Step{Verb: "wait", Of: []script.Object{task}})
		return p, true
	}
	_, p.config = p.config.Do(model.Call{Verb: "restart"})
	return p, true
}

// Mark is the argument of the `mark` step at which a kill happens.
const Mark = "running"

// workload returns the workload for the next script: the one of the next row with which
// the script can run.
func (e *enumerator) workload(p prefix) (w harness.Workload) {
	for range e.rows {
		w = e.rows[e.next%len(e.rows)].workload()
		if e.next++; p.can(w.Containers[0]) {
			break
		}
	}
	return w
}

// then returns the prefix with one more step that counts. It returns false if the step
// changes nothing, or if the model does not know its response.
func (p prefix) then(step script.Step) (prefix, bool) {
	of := objectOf(step)
	if step.Verb == "end" && (p.config.State(of) != model.Running || p.early) {
		return p, false // the client does this without a call, so containerd cannot refuse it
	}
	if step.Verb == "kill" && of == exec && p.exec.Signal != "" {
		step.Arg = p.exec.Signal
	}
	if step.Verb == "start" && of == exec {
		p.starts = p.starts || p.config.State(exec) == model.Created
		p.twice = p.twice || p.config.State(exec) == model.Running
	}
	p.deletesCreated = p.deletesCreated || step.Verb == "delete" && of == task && p.config.State(task) == model.Created
	response, next := p.config.Do(p.call(step, of))
	if response == "" || response == harness.Done && next == p.config && step.Verb != "restart" {
		return p, false
	}
	p.last = len(p.all)
	p.steps = p.add(step, response, next)
	return p, true
}

// makeCase returns the case of the script with a workload.
func (p prefix) makeCase(w harness.Workload) harness.Case {
	words := []string{"script"}
	if p.name != "" {
		words = append(words, p.name)
	}
	for _, s := range p.counted {
		word := s.Verb
		if word == script.Mark {
			word = p.killed + "-killed"
		}
		if len(s.Of) > 0 && s.Of[0].IsExec() {
			word += ".e0"
		}
		words = append(words, word)
	}
	w.Containers[0].Execs = []harness.ExecSpec{p.exec}
	w.Containers[0].Stays = !p.early && !p.all.Has("end", task)
	if p.exec.LeavesChild {
		w.CallTimeout = 2 * harness.IODrain
	}
	w.Script = []string{"create all"}
	if p.from == model.Running {
		w.Script = append(w.Script, "start all")
	}
	w.Script = append(w.Script, p.all.Lines()...)
	c := harness.Case{
		Name:     strings.Join(words, "-"),
		About:    fmt.Sprintf("An enumerated script of %d steps.", len(p.counted)),
		Workload: w,
	}
	if p.killed != "" {
		c.Plan = failpoints.Plan{failpoints.Once("proc:"+p.killed+":"+Mark, term.Kill)}
	}
	switch {
	case p.twice:
		c.Bugs = []string{"exec-counted-twice"}
	case p.killed == "shim" && p.counted.Uses("restart"): // the restart comes while containerd cleans up
		c.Bugs = []string{"exit-unheard-over-a-restart"}
	case p.deletesCreated:
		c.Bugs = []string{"delete-of-a-created-task", "containerd-13052"}
	}
	return c
}
