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

// ExecSpec is an exec of a container that the steps of a script run.
type ExecSpec struct {
	// Exit is the exit status of the exec. It exits at its `end` step, or at once if the
	// script has none.
	Exit int `yaml:"exit,omitempty" json:"exit,omitempty"`
	// Signal is the signal that the `end` step of the exec sends, in place of `exit`:
	// SIGTERM or SIGUSR1.
	Signal string `yaml:"signal,omitempty" json:"signal,omitempty"`
	// Stays makes the exec run until a step, a fault or the end of its container ends it.
	Stays bool `yaml:"stays,omitempty" json:"stays,omitempty"`
	// LeavesChild makes the exec leave a child that keeps its output open, as sh -c
	// 'sleep 60 &' does. With the task API its Delete takes IODrain, and needs a
	// callTimeout of twice that.
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

// ReusesIDs reports whether a script may use the id of a container again. By CRI each
// container has an id of its own.
func (w Workload) ReusesIDs() bool { return w.Scripted() && w.API != CRI }

// MostExecs is the largest number of execs of a container that the model keeps apart.
const MostExecs = 4

// Restarts reports whether the client restarts containerd.
func (w Workload) Restarts() bool {
	steps, _ := w.Steps() // an error is a problem of the case
	return steps.Uses("restart")
}

// Soaks returns the sum of the workload's soak steps.
func (w Workload) Soaks() (all time.Duration) {
	steps, _ := w.Steps() // an error is a problem of the case
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
			add(at+".execs", errors.New("execs: only the steps of a script run them: add script"))
		}
		if len(c.Execs) > MostExecs {
			add(at+".execs", fmt.Errorf("%d execs: up to %d", len(c.Execs), MostExecs))
		}
		if len(c.Execs) > 1 && w.API == CRI {
			add(at+".execs", errors.New("execs: by CRI at most one for each container: its events do not name the exec"))
		}
		for m, e := range c.Execs {
			if err := e.check(); err != nil {
				add(fmt.Sprintf("%s.execs[%d]", at, m), err)
			}
		}
	}
	if w.API == CRI && !w.Scripted() && slices.ContainsFunc(w.Containers, func(c Container) bool { return c.Stdin > 0 }) {
		add("workload.containers", errors.New("stdin: by CRI the steps of a script write it: add script"))
	}
	if !w.Scripted() {
		return all
	}
	if w.Fakeshim != "" {
		add("workload.script", errors.New("script: only with runc's shim: leave out fakeshim"))
	}
	steps, err := w.Steps()
	for _, s := range steps {
		for _, of := range s.Of {
			if s.Verb == "write" && w.Containers[of.Container].Stdin == 0 {
				add("workload.script", fmt.Errorf("write %s: c%d has no standard input: add stdin", of, of.Container))
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
		return fmt.Errorf("exit %d is not between 0 and 255", e.Exit)
	case e.Signal != "" && !slices.Contains(execSignals, e.Signal):
		return spelling.Unknown("signal", e.Signal, execSignals)
	case e.NoSuchCommand && e != ExecSpec{NoSuchCommand: true}:
		return errors.New("noSuchCommand: the exec never runs: leave out all other keys")
	case e.Signal != "" && (e.Exit != 0 || e.Stays) || e.Stays && e.Exit != 0:
		return errors.New("an exec ends by exit, by signal, or stays until something ends it")
	}
	return nil
}

// Want returns the exec's exit status if nothing else ends it.
func (e ExecSpec) Want() uint32 {
	if e.Stays {
		return Container{Signal: "SIGKILL"}.Want()
	}
	return Container{Exit: e.Exit, Signal: e.Signal}.Want()
}

// objectName is the name of an object, or of a later use of its id: c0, c0-2, c0-2/e0.
var objectName = regexp.MustCompile(`^c(\d{1,3})(?:-\d+)?(?:/e(\d{1,3})(?:-\d+)?)?$`)

// ObjectNamed returns the script's object that a call or an observation names.
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
