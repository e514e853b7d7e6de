// Package model knows the responses that containerd may give. It has the states of a task
// and of its execs, and the states of a pod and a container of CRI. Tables have a row for
// each verb. After lost responses and concurrent calls it keeps the set of all possible
// states. It is small on purpose: it knows no error codes, retries, clean-ups and
// time-outs.
package model

import (
	"fmt"
	"strings"

	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/harness/script"
	"github.com/shimquake/shimquake/oracle/criview"
)

// State is the state of a task, or of an exec, as containerd's shim has it. The state of
// a pod, or of a container in it, is the one that CRI has.
type State uint8

// The states. An exec that was added is Created; it is never Paused itself.
const (
	None State = iota
	Created
	Running
	Paused
	Stopped
	Exited   // a container of CRI
	Ready    // a pod
	NotReady // a pod
)

var stateNames = [...]string{"none", "created", "running", "paused", "stopped", "exited", "ready", "not ready"}

func (s State) String() string { return stateNames[s] }

// Process is a task's init, or an exec.
type Process struct {
	State State
	// Killed is set once SIGKILL was sent: the process ends soon. Released is set once it
	// may come to its own end, which it does when it runs.
	Killed, Released bool
	// Burnt is set of an exec whose start was refused: a Wait on it returns.
	Burnt bool
}

// mayEnd reports whether a process ends without another call.
func (p Process) mayEnd() bool {
	switch p.State {
	case Created, Paused:
		return p.Killed
	case Running:
		return p.Killed || p.Released
	}
	return false
}

// Config is a state of a container's task and of all its execs together: what an exec may
// do depends on its task. By CRI it is a state of a pod and of one container in it.
type Config struct {
	Pod   State
	Task  Process
	Execs [harness.MostExecs]Process
}

// of is the process of an object.
func (c *Config) of(o script.Object) *Process {
	if o.IsExec() {
		return &c.Execs[o.Exec]
	}
	return &c.Task
}

// State is the state of an object.
func (c Config) State(o script.Object) State {
	if o == script.ThePod {
		return c.Pod
	}
	return c.of(o).State
}

// set makes an object be in a state.
func (c *Config) set(o script.Object, s State) {
	if o == script.ThePod {
		c.Pod = s
		return
	}
	c.of(o).State = s
}

// ends are the configurations after the end of one process that may end by itself. With a
// task its execs are killed. The shim may report an exec's exit before the init's: it
// holds the init's exit back until its execs have ended (handleInitExit of
// task/service.go). In a paused container a killed exec ends at once on cgroup v2, and on
// v1 when the container is resumed: frozen includes its end.
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

// ended is the state of a container that has ended.
func (c Config) ended() State {
	if c.Pod != None {
		return Exited
	}
	return Stopped
}

// Settled is the configuration when all processes that surely end by themselves have
// ended, with the objects that they are.
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

// Reported returns the state of an object that State and List report; "": there is no
// such object. All processes of a paused container are reported as paused
// (execProcess.Status of v2.4.2).
func (c Config) Reported(o script.Object) string {
	s := c.State(o)
	switch {
	case s == None:
		return ""
	case s == Ready:
		return criview.Ready
	case s == NotReady:
		return criview.NotReady
	case c.Pod != None && !o.IsExec():
		return "CONTAINER_" + strings.ToUpper(s.String())
	case o.IsExec() && c.Task.State == Paused:
		s = Paused
	}
	return strings.ToUpper(s.String())
}

// Words are the states of a container's objects, for people.
func (c Config) Words(o script.Object) string {
	switch {
	case o.IsExec():
		return fmt.Sprintf("%s in a %s task", c.State(o), c.Task.State)
	case o != script.ThePod && c.Pod != None:
		return fmt.Sprintf("%s in a pod that is %s", c.State(o), c.Pod)
	}
	return c.State(o).String()
}
