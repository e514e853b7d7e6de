package model

import (
	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/harness/script"
)

// podRow has a cell for each state of a pod: none, ready, not ready.
type podRow [3]Cell

// containerRow has a cell for each state of a container: none, created, running, exited.
type containerRow [4]Cell

// keeps is a call that succeeds and changes nothing.
var keeps = Cell{Response: harness.Done, Keeps: true}

// pods is the table of CRI's calls about a pod. A name is reserved until the removal, and
// its refusal has no code (sandbox_run.go of internal/cri/server in v2.4.2). The stop and
// the removal of a missing pod succeed (sandbox_stop.go, sandbox_remove.go). The removal
// stops the pod first.
var pods = map[string]podRow{
	"RunPodSandbox":    {to(Ready), refused, refused},
	"StopPodSandbox":   {keeps, to(NotReady), keeps},
	"RemovePodSandbox": {keeps, to(None), to(None)},
}

// containers is the table of CRI's calls about a container (container_create.go,
// container_start.go and so on there). The removal of a running container stops it first.
// Exec and Attach check the state as ExecSync does.
var containers = map[string]containerRow{
	"CreateContainer": {to(Created), refused, refused, refused},
	"StartContainer":  {notFound, to(Running), refused, refused},
	"StopContainer":   {keeps, keeps, to(Exited), keeps},
	"RemoveContainer": {keeps, to(None), to(None), to(None)},
	"ExecSync":        {notFound, refused, keeps, refused},
	"Exec":            {notFound, refused, keeps, refused},
	"Attach":          {notFound, refused, keeps, refused},
	"await":           {keeps, {}, {}, keeps}, // ContainerStatus, until the container has exited
}

// inPod is the result of a call about a container that the state of its pod decides.
// CreateContainer checks the pod first. v1 finds no task of a stopped pod
// (pkg/cri/server/container_create.go of v1.7.35). v2.0.0 checks nothing, and v2.2.6 and
// v2.3.3 check the state. StartContainer checks the container first. When it fails after
// that, the container has exited with StartError, and can never be started
// (container_start.go of v2.4.2).
var inPod = map[string]podRow{
	"CreateContainer": {notFound, keeps, {Response: harness.Refused, Until: []Until{
		{"< 2.0.0", notFound}, {">= 2.0.0, < 2.2.6 || >= 2.3.0, < 2.3.3", keeps}}}},
	"StartContainer": {failed, keeps, failed},
}

// failed is a call that is refused, and ends the container.
var failed = Cell{Response: harness.Refused, To: Exited}

var (
	podColumns       = map[State]int{None: 0, Ready: 1, NotReady: 2}
	containerColumns = map[State]int{None: 0, Created: 1, Running: 2, Exited: 3}
)

// ObjectOf returns the object of a call of CRI, in the follow-up of one container.
func ObjectOf(verb string, container script.Object) (script.Object, bool) {
	if _, ok := pods[verb]; ok {
		return script.ThePod, true
	}
	_, ok := containers[verb]
	return container, ok
}

// isCRI reports whether a verb is a call of CRI.
func isCRI(verb string) bool {
	_, ok := ObjectOf(verb, script.Object{})
	return ok
}

// criCell is the result of a call of CRI.
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

// doCRI is Do for a call of CRI.
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
