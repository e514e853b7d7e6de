package model

import (
	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/harness/script"
)

// podRow has a cell for each state of a pod, in this order: none, ready, not ready.
type podRow [3]Cell

// containerRow has a cell for each state of a container, in this order: none, created,
// running, exited.
type containerRow [4]Cell

// keeps is the result of a call that succeeds and changes nothing.
var keeps = Cell{Response: harness.Done, Keeps: true}

// pods is the table of CRI's calls about a pod (internal/cri/server in v2.4.2). The pod's
// name is reserved until the removal, and the error for a reserved name has no code
// (sandbox_run.go). The stop and the removal of a missing pod succeed (sandbox_stop.go,
// sandbox_remove.go). The removal stops the pod first.
var pods = map[string]podRow{
	"RunPodSandbox":    {to(Ready), refused, refused},
	"StopPodSandbox":   {keeps, to(NotReady), keeps},
	"RemovePodSandbox": {keeps, to(None), to(None)},
}

// containers is the table of CRI's calls about a container (container_create.go,
// container_start.go and so on in the same folder). The removal of a running container
// stops it first. Exec, Attach and ReopenContainerLog check the state as ExecSync does.
var containers = map[string]containerRow{
	"CreateContainer":    {to(Created), refused, refused, refused},
	"StartContainer":     {notFound, to(Running), refused, refused},
	"StopContainer":      {keeps, keeps, to(Exited), keeps},
	"RemoveContainer":    {keeps, to(None), to(None), to(None)},
	"ExecSync":           {notFound, refused, keeps, refused},
	"Exec":               {notFound, refused, keeps, refused},
	"Attach":             {notFound, refused, keeps, refused},
	"ReopenContainerLog": {notFound, refused, keeps, refused},
	"await":              {keeps, {}, {}, keeps}, // ContainerStatus, repeated until the container has exited
}

// inPod has the calls about a container whose result depends on the pod's state.
// CreateContainer checks the pod first. v1 finds no task of a stopped pod
// (pkg/cri/server/container_create.go in v1.7.35). v2.0.0 checks nothing, and v2.2.6 and
// v2.3.3 check the pod's state. StartContainer checks the container first. If it fails
// after that, CRI reports the container as exited with StartError, and refuses further
// starts (container_start.go in v2.4.2).
var inPod = map[string]podRow{
	"CreateContainer": {notFound, keeps, {Response: harness.Refused, Until: []Until{
		{"< 2.0.0", notFound}, {">= 2.0.0, < 2.2.6 || >= 2.3.0, < 2.3.3", keeps}}}},
	"StartContainer": {failed, keeps, failed},
}

// failed is the result of a call that is refused, and after which the container is
// exited.
var failed = Cell{Response: harness.Refused, To: Exited}

var (
	podColumns       = map[State]int{None: 0, Ready: 1, NotReady: 2}
	containerColumns = map[State]int{None: 0, Created: 1, Running: 2, Exited: 3}
)

// ObjectOf returns the object of a CRI call: the pod, or the given container.
func ObjectOf(verb string, container script.Object) (script.Object, bool) {
	if _, ok := pods[verb]; ok {
		return script.ThePod, true
	}
	_, ok := containers[verb]
	return container, ok
}

// isCRI reports whether a verb is the name of a CRI call.
func isCRI(verb string) bool {
	_, ok := ObjectOf(verb, script.Object{})
	return ok
}

// criCell returns the result of a CRI call from the tables.
func (c Config) criCell(call Call) Cell {
	if row, ok := pods[call.Verb]; ok {
		return row[podColumns[c.Pod]]
	}
	cell := containers[call.Verb][containerColumns[c.Task.State]]
	by, ofPod := inPod[call.Verb]
	pod := by[podColumns[c.Pod]].in(call.Release)
	switch {
	case ofPod && !pod.Keeps && (call.Verb == "CreateContainer" || cell.Response == harness.Done):
		return pod
	case call.Verb == "StartContainer" && call.Absent && cell.Response == harness.Done:
		return failed
	case call.Verb == "ExecSync" && call.Absent && cell.Response == harness.Done:
		return refused
	}
	return cell
}

// doCRI does the work of Do for a CRI call.
func (c Config) doCRI(call Call) (harness.Response, Config) {
	cell := c.criCell(call)
	if cell.Keeps || cell.Response != harness.Done && cell.To == None {
		return cell.Response, c
	}
	switch call.Verb {
	case "RunPodSandbox":
		c.Pod = cell.To
	case "StopPodSandbox":
		if c.Pod = cell.To; c.Task.State == Running {
			c.Task = Process{State: Exited}
		}
	case "RemovePodSandbox":
		c = Config{}
	case "CreateContainer":
		c.Task = Process{State: Created, Released: call.AtOnce}
	case "StartContainer":
		c.Task.State = cell.To
	default:
		c.Task = Process{State: cell.To}
	}
	return cell.Response, c
}
