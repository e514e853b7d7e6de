// Package model knows which responses containerd may give to the steps of a script, and
// which states CRI may report. It models the states of a task and of its execs, or of a
// pod and a container of CRI. Its tables have a row for each verb or state. After lost
// responses and concurrent calls it keeps the set of all possible states. It is small on
// purpose: it has no error codes and clean-ups.
package model

import (
	"fmt"
	"strings"

	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/harness/script"
)

// State is the state of a task or an exec in containerd's shim, or the state of a pod or
// container in CRI.
type State uint8

// The states. An exec is Created after it was added, and is never Paused.
const (
	None State = iota
	Created
	Running
	Paused
	Stopped
	Exited   // a container of CRI
	Ready    // a pod
	NotReady // a pod
	// No step of a script leads to the next states of CRI.
	HalfMade // A pod's shim has created its init, and not started it.
	Lost     // containerd was started after a pod's init or shim was killed.
	Failed   // The start of a container has failed.
)

var stateNames = [...]string{
	"none", "created", "running", "paused", "stopped", "exited", "ready", "not ready", "half made", "lost", "failed",
}

func (s State) String() string { return stateNames[s] }

// Process is the model of a task's init, or of an exec.
type Process struct {
	State State
	// Killed is set after SIGKILL was sent, so that the process ends soon. Released is set
	// after the client let the process end. It then ends as soon as it runs.
	Killed, Released bool
	// Burnt is set for an exec whose start was refused. A Wait for such an exec returns.
	Burnt bool
}

// mayEnd reports whether the process can end without another call.
func (p Process) mayEnd() bool {
	switch p.State {
	case Created, Paused:
		return p.Killed
	case Running:
		return p.Killed || p.Released
	}
	return false
}

// Config is a configuration: the states of a container's task and of all its execs
// together. They belong together, because the result of a call about an exec depends on
// its task. With CRI it has the states of a pod and of one container in it.
type Config struct {
	Pod   State
	Task  Process
	Execs [harness.MaxExecs]Process
}

// of returns the process of an object.
func (c *Config) of(o script.Object) *Process {
	if o.IsExec() {
		return &c.Execs[o.Exec]
	}
	return &c.Task
}

// State returns the state of an object.
func (c Config) State(o script.Object) State {
	if o == script.ThePod {
		return c.Pod
	}
	return c.of(o).State
}

// set sets the state of an object.
func (c *Config) set(o script.Object, s State) {
	if o == script.ThePod {
		c.Pod = s
		return
	}
	c.of(o).State = s
}

// ends returns each configuration that is possible after the end of one process that can
// end by itself. If the task ends, its execs are killed. The shim may report an exec's
// exit before the init's, because it delays the init's exit until the execs have ended
// (handleInitExit of task/service.go). In a paused container, a killed exec ends
// immediately on cgroup v2, but on v1 only after the resume. With frozen, ends includes
// its end.
func (c Config) ends(frozen bool) (all []Config) {
	if c.Task.mayEnd() {
		next := c
		next.Task = Process{State: c.ended()}
		for n := range next.Execs {
			if next.Execs[n].State == Running {
				next.Execs[n].Killed = true
			}
		}
		all = append(all, next)
	}
	for n, e := range c.Execs {
		killed := e.Killed || c.Task.mayEnd()
		if e.State == Running && (killed || e.Released) && (c.Task.State != Paused || frozen && killed) {
			next := c
			next.Execs[n] = Process{State: Stopped}
			all = append(all, next)
		}
	}
	return all
}

// ended returns the state of a container that has ended.
func (c Config) ended() State {
	if c.Pod != None {
		return Exited
	}
	return Stopped
}

// Settled returns the configuration after the end of all processes that certainly end by
// themselves, and the objects that have ended.
func (c Config) Settled(container int) (Config, []script.Object) {
	var ended []script.Object
	for all := c.ends(false); len(all) > 0; all = c.ends(false) {
		next := all[0]
		of := script.Container(container)
		for n := range c.Execs {
			if next.Task == c.Task && next.Execs[n] != c.Execs[n] {
				of = script.ExecOf(container, n)
			}
		}
		c, ended = next, append(ended, of)
	}
	return c, ended
}

// Reported returns the state of an object as containerd reports it, or "" if there is no
// such object. containerd reports all processes of a paused container as paused
// (execProcess.Status of v2.4.2).
func (c Config) Reported(o script.Object) string {
	s := c.State(o)
	switch {
	case s == None:
		return ""
	case c.Pod != None && !o.IsExec():
		return views[s].reports
	case o.IsExec() && c.Task.State == Paused:
		s = Paused
	}
	return strings.ToUpper(s.String())
}

// Words describes the state of an object, for people.
func (c Config) Words(o script.Object) string {
	switch {
	case o.IsExec():
		return fmt.Sprintf("%s in a %s task", c.State(o), c.Task.State)
	case o != script.ThePod && c.Pod != None:
		return fmt.Sprintf("%s in a pod that is %s", c.State(o), c.Pod)
	}
	return c.State(o).String()
}
