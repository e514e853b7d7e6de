package harness

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"time"

	"github.com/shimquake/shimquake/harness/script"
	"github.com/shimquake/shimquake/spelling"
)

// ExecSpec describes an exec of a container, which the steps of a script run.
type ExecSpec struct {
	// Exit is the exit status of the exec. The exec exits at its `end` step, or immediately
	// if the script has no such step.
	Exit int `yaml:"exit,omitempty" json:"exit,omitempty"`
	// Signal is the signal that the `end` step of the exec sends, in place of `exit`:
	// SIGTERM or SIGUSR1.
	Signal string `yaml:"signal,omitempty" json:"signal,omitempty"`
	// Stays makes the exec run until a step, a fault or the end of its container ends it.
	Stays bool `yaml:"stays,omitempty" json:"stays,omitempty"`
	// LeavesChild makes the exec leave a child that keeps its output open, as sh -c 'sleep
	// 60 &' does. With the task API its delete takes 10s (IODrain), so callTimeout must be
	// at least 20s.
	LeavesChild bool `yaml:"leavesChild,omitempty" json:"leavesChild,omitempty"`
	// NoSuchCommand gives the exec a command that does not exist, so runc refuses it.
	NoSuchCommand bool `yaml:"noSuchCommand,omitempty" json:"noSuchCommand,omitempty"`
}

// Steps returns the script of the workload, or the default lifecycle if it has none.
func (w Workload) Steps() (script.Script, error) {
	w = w.WithDefaults()
	by, lines := script.Task, w.Script
	if w.API == CRI {
		by = script.CRI
	}
	switch {
	case len(lines) > 0:
	case w.API == CRI:
		lines = script.Pod
	default:
		lines = script.Tasks
	}
	var execs []int
	for _, c := range w.Containers {
		execs = append(execs, len(c.Execs))
	}
	return script.Parse(by, lines, execs)
}

// Scripted reports whether the workload is a script.
func (w Workload) Scripted() bool { return len(w.Script) > 0 }

// ReusesIDs reports whether the workload may use the id of a container again. A script of
// the task API may. CRI gives each container a new id.
func (w Workload) ReusesIDs() bool { return w.Scripted() && w.API != CRI }

// MaxExecs is the largest number of execs of a container. The model has states for that
// many.
const MaxExecs = 4

// Restarts reports whether a step of the workload restarts containerd.
func (w Workload) Restarts() bool {
	steps, _ := w.Steps() // Case.Check reports the error
	return steps.Uses("restart")
}

// Soaks returns the sum of the workload's soak steps.
func (w Workload) Soaks() (all time.Duration) {
	steps, _ := w.Steps() // Case.Check reports the error
	for _, s := range steps {
		if s.Verb == "soak" {
			d, _ := time.ParseDuration(s.Arg) // it was parsed with the script
			all += d
		}
	}
	return all
}

// scriptProblems returns the errors of a script, and of keys that need or exclude one.
func (w Workload) scriptProblems() (all []fieldError) {
	add := func(path string, err error) { all = append(all, fieldError{path, err}) }
	for n, c := range w.Containers {
		at := fmt.Sprintf("workload.containers[%d]", n)
		if len(c.Execs) > 0 && !w.Scripted() {
			add(at+".execs", errors.New("execs: only the steps of a script can run execs: add script"))
		}
		if len(c.Execs) > MaxExecs {
			add(at+".execs", fmt.Errorf("%d execs: at most %d are allowed", len(c.Execs), MaxExecs))
		}
		if len(c.Execs) > 1 && w.API == CRI {
			add(at+".execs", errors.New("execs: with CRI a container has at most one, because its events name no exec"))
		}
		for m, e := range c.Execs {
			if err := e.check(); err != nil {
				add(fmt.Sprintf("%s.execs[%d]", at, m), err)
			}
		}
	}
	if w.API == CRI && !w.Scripted() && slices.ContainsFunc(w.Containers, func(c Container) bool { return c.Stdin > 0 }) {
		add("workload.containers", errors.New("stdin: with CRI only the steps of a script can write it: add script"))
	}
	if !w.Scripted() {
		return all
	}
	if w.Fakeshim != "" {
		add("workload.script", errors.New("script: it needs runc's shim: remove fakeshim"))
	}
	steps, err := w.Steps()
	for _, s := range steps {
		for _, of := range s.Of {
			if s.Verb == "write" && w.Containers[of.Container].Stdin == 0 {
				add("workload.script", fmt.Errorf("write %s: c%d has no standard input: add stdin to it", of, of.Container))
			}
		}
	}
	for _, e := range unjoined(err) {
		var at *script.Error
		if errors.As(e, &at) {
			add(fmt.Sprintf("workload.script[%d]", at.Line), at)
		}
	}
	return all
}

func unjoined(err error) []error {
	if err == nil {
		return nil
	}
	var all interface{ Unwrap() []error }
	if errors.As(err, &all) {
		return all.Unwrap()
	}
	return []error{err}
}

func (e ExecSpec) check() error {
	switch {
	case e.Exit < 0 || e.Exit > 255:
		return fmt.Errorf("exit: %d is not between 0 and 255", e.Exit)
	case e.Signal != "" && !slices.Contains(execSignals, e.Signal):
		return spelling.Unknown("signal", e.Signal, execSignals)
	case e.NoSuchCommand && e != ExecSpec{NoSuchCommand: true}:
		return errors.New("noSuchCommand: the exec never runs: remove all other keys")
	case e.Signal != "" && (e.Exit != 0 || e.Stays) || e.Stays && e.Exit != 0:
		return errors.New("an exec has one of exit, signal and stays: remove the others")
	}
	return nil
}

// Want returns the exec's exit status if no fault kills it.
func (e ExecSpec) Want() uint32 {
	if e.Stays {
		return Container{Signal: "SIGKILL"}.Want()
	}
	return Container{Exit: e.Exit, Signal: e.Signal}.Want()
}

// objectName matches the name of a script's object, such as c0 or c0/e0. A second use of
// the id has the names c0-2 and c0-2/e0.
var objectName = regexp.MustCompile(`^c(\d{1,3})(?:-\d+)?(?:/e(\d{1,3})(?:-\d+)?)?$`)

// ObjectNamed returns the script's object for the name in a call or an observation.
func ObjectNamed(name string) (script.Object, bool) {
	found := objectName.FindStringSubmatch(name)
	if found == nil {
		return script.Object{}, false
	}
	n, _ := strconv.Atoi(found[1]) // the pattern allows at most three digits
	if found[2] == "" {
		return script.Container(n), true
	}
	m, _ := strconv.Atoi(found[2])
	return script.ExecOf(n, m), true
}
