package model

import (
	"github.com/Masterminds/semver/v3"

	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/harness/script"
)

// Cell is the result of a call in a state.
type Cell struct {
	Response harness.Response
	To       State // the object's new state, if the response is done
	Keeps    bool  // set if the call changes nothing
	// Until has different results of older releases.
	Until []Until
}

// Until is the result in a range of semantic versions.
type Until struct {
	Releases string
	Cell     Cell
}

// in returns the result in a release. "" stands for the newest release.
func (c Cell) in(release string) Cell {
	is, err := semver.NewVersion(release)
	for _, u := range c.Until {
		if r, bad := semver.NewConstraint(u.Releases); err == nil && bad == nil && r.Check(is) {
			return u.Cell
		}
	}
	return c
}

var (
	notFound = Cell{Response: harness.NotFound}
	refused  = Cell{Response: harness.Refused}
	exists   = Cell{Response: harness.Exists}
)

func to(s State) Cell { return Cell{Response: harness.Done, To: s} }

// row has a cell for each state, in this order: none, created, running, paused, stopped.
type row [5]Cell

// tasks is the table of the task API's verbs. It restates the shim's own table:
// cmd/containerd-shim-runc-v2/process/init_state.go of v2.4.2 has a type for each state
// with a method for each verb. For a missing task, containerd itself returns NotFound
// (getTask of plugins/services/tasks/local.go). For a second create, it returns
// AlreadyExists (Create in the same file).
var tasks = map[string]row{
	"create": {to(Created), exists, exists, exists, exists},
	"start":  {notFound, to(Running), refused, refused, refused},
	"kill":   {notFound, to(Created), to(Running), to(Paused), notFound},
	"pause":  {notFound, refused, to(Paused), refused, refused},
	"resume": {notFound, refused, refused, to(Running), refused},
	"delete": {notFound, to(None), refused, refused, to(None)},
	"wait":   {notFound, {}, {}, {}, to(Stopped)},
}

// execs is the table of the verbs on an exec, by the exec's own state (exec_state.go in
// the same folder). An exec that was not started has no pid, so a kill fails with
// FailedPrecondition (execProcess.kill of exec.go).
var execs = map[string]row{
	"add":    {to(Created), exists, exists, exists, exists},
	"start":  {notFound, to(Running), refused, refused, refused},
	"kill":   {notFound, refused, to(Running), {}, notFound},
	"delete": {notFound, to(None), refused, {}, to(None)},
	"wait":   {notFound, {}, {}, {}, to(Stopped)},
}

// ofTask is the table of the verbs on an exec, by the state of its task. The table execs
// comes first: an id in use is refused in each state of the task (service.Exec of
// task/service.go reserves the id). runc refuses to run an exec in a paused container.
// The shim refuses to start one after the exit of the init (service.Start in the same
// file).
var ofTask = map[string]row{
	"add":   {notFound, to(None), to(None), refused, refused},
	"start": {notFound, to(None), to(None), refused, refused},
}

// Call is one call of a client about an object.
type Call struct {
	Verb string // of the task API, such as create, or the name of a CRI call
	Of   script.Object
	// Signal is the signal of a kill, such as SIGKILL.
	Signal string
	// Beside is set for each of several overlapping creates, or deletes, of an object. In
	// v2.4.2 more than one delete may succeed. A create may fail at the bundle of another
	// create. This error of mkdir has no code (NewBundle of core/runtime/v2/bundle.go).
	Beside bool
	// SharedPID is set if the container has no PID namespace of its own.
	SharedPID bool
	// Release is the version of the containerd that is called. "" stands for the newest
	// release.
	Release string
	// Absent reports that the object's command does not exist. AtOnce reports that its
	// process ends without an `end` step.
	Absent, AtOnce bool
}

// Do returns the response to a call in a configuration, and the configuration after it.
// The response is "" if the call waits.
func (c Config) Do(call Call) (harness.Response, Config) {
	switch {
	case call.Verb == "end":
		return harness.Done, c.released(call.Of)
	case isCRI(call.Verb):
		return c.doCRI(call)
	case call.Verb == "restart":
		return harness.Done, c.restarted()
	}
	if v, _ := script.Named(call.Verb); v.NoRow != "" {
		return harness.Done, c
	}
	cell := c.cell(call)
	if cell.Response != harness.Done {
		if call.Verb == "start" && cell.Response == harness.Refused && c.State(call.Of) == Created {
			c.of(call.Of).Burnt = c.of(call.Of).Burnt || c.Task.State != Stopped
		}
		return cell.Response, c
	}
	p := c.of(call.Of)
	p.State = cell.To
	switch call.Verb {
	case "create", "add":
		*p = Process{State: Created, Released: call.AtOnce}
	case "kill":
		p.Killed = p.Killed || call.Signal == "SIGKILL"
		p.Released = p.Released || call.Signal != "SIGKILL"
	case "delete":
		*p = Process{}
		if !call.Of.IsExec() {
			c = Config{}
		}
	}
	return harness.Done, c
}

func (c Config) cell(call Call) Cell {
	own := c.State(call.Of)
	if !call.Of.IsExec() {
		if call.Absent && call.Verb == "create" && own == None {
			return refused
		}
		if call.Verb == "kill" && call.Signal == "SIGKILL" && call.SharedPID && own == Stopped {
			return to(Stopped) // runc kills all processes of the cgroup, also if there are none (Container.Signal of runc)
		}
		return tasks[call.Verb][own]
	}
	cell := execs[call.Verb][own]
	if by, ok := ofTask[call.Verb]; ok && cell.Response == harness.Done {
		if decides := by[c.Task.State]; decides.Response != harness.Done {
			return decides
		}
	}
	switch {
	case call.Absent && call.Verb == "start" && cell.Response == harness.Done:
		return refused
	case call.Verb == "wait" && c.of(call.Of).Burnt:
		return to(own)
	}
	return cell
}

// released returns the configuration after the client has let a process end.
func (c Config) released(of script.Object) Config {
	if p := c.of(of); p.State != None && p.State != Stopped && p.State != Exited {
		p.Released = true
	}
	return c
}

// restarted returns the configuration after a restart of containerd, which deletes a task
// without processes (loadShims of core/runtime/v2/shim_load.go).
func (c Config) restarted() Config {
	if c.Task.State == Stopped {
		return Config{}
	}
	return c
}
