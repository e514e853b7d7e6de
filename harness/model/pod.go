package model

import (
	"slices"
	"time"

	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/harness/script"
	"github.com/shimquake/shimquake/oracle/criview"
	"github.com/shimquake/shimquake/oracle/fact"
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

// view has the states that CRI may report of a pod or a container.
type view struct {
	reports string   // The state that it reports if it knows of all events.
	also    []string // The other states that it may report.
	is      string   // How a state is wrong that it may not report.
}

// created is the state of a container before its start, in the API's form.
const created = "CONTAINER_CREATED"

// views has the view of each state. CRI may report a container as created until the
// response to its start. It reports UNKNOWN if a restarted containerd could not load the
// task, until it has handled the exit.
var views = map[State]view{
	HalfMade: {reports: criview.NotReady, is: fact.TooEarly},
	Ready:    {reports: criview.Ready, is: fact.TooEarly},
	NotReady: {reports: criview.NotReady, is: fact.TooLate},
	Lost:     {reports: criview.NotReady, is: fact.TooLate},
	Created:  {reports: created},
	Failed:   {reports: criview.Exited, is: fact.Other},
	Running:  {criview.Running, []string{created, criview.Unknown}, fact.TooEarly},
	Stopped:  {criview.Exited, []string{created, criview.Unknown}, fact.TooLate},
	Exited:   {reports: criview.Exited, is: fact.TooLate},
}

// learnBound is how long after a container's end CRI may report the container as
// running or UNKNOWN. CRI gives each try to handle an exit 10 s (handleEventTimeout),
// and tries again a second later (internal/cri/server/events). A restart of containerd
// begins this time anew.
const learnBound = 25 * time.Second

// StartFailed is why a container has exited without having run.
const StartFailed = "its StartContainer had failed"

// Moment is a known event. Its time is zero if the order of the requests shows that the
// event was before the report.
type Moment struct {
	What string
	At   time.Time
}

// Report is a state that CRI reported of a pod or a container, and the known facts about
// the object. A time is zero if the event did not happen, or if a fault may have undone
// it.
type Report struct {
	State           string    // As the API names it, or "" if a list does not have the object.
	Listed          bool      // In a list.
	Asked, Answered time.Time // Of the request and of the response.
	Faulty          bool      // A fault may have happened before the response.

	// Facts about a pod.
	HalfMade bool // Its shim had created its init, and not begun to start it.
	Ran      bool // RunPodSandbox had succeeded.
	Stopped  bool // StopPodSandbox had succeeded.
	Lost     bool // Its init or its shim was killed before containerd was started.

	// Facts about a container.
	StartFailed  bool      // StartContainer had failed.
	ExitReported bool      // ContainerStatus had reported its exit.
	Stop         Moment    // Its only successful stop.
	Ended        time.Time // Its end, by its own record.
	EndedBy      Moment    // Its end, or the first known event after it.
	Back         time.Time // When containerd last came up before the request.
}

// Wrong returns how a report differs from the states that CRI may report, and why. is is
// "" if the report is possible. A list is judged only by the state that it must have,
// except that a stopped pod may not be ready.
func (r Report) Wrong() (is string, why Moment) {
	told := r.EndedBy.At
	if r.Back.After(told) {
		told = r.Back
	}
	for _, known := range []struct {
		applies bool
		State
		Moment
	}{
		{r.HalfMade, HalfMade, Moment{What: "its shim had created its init, and not started it"}},
		{r.Stopped && (!r.Listed || !r.Faulty), NotReady, Moment{What: "StopPodSandbox had succeeded"}},
		{r.Lost && !r.Stopped, Lost, Moment{What: "its init or its shim was killed before containerd was started"}},
		{r.Ran && !r.Stopped && !r.Faulty, Ready,
			Moment{What: "RunPodSandbox had succeeded, and nothing had stopped it"}},
		{r.StartFailed && !r.Faulty, Failed, Moment{What: criview.Exited + ": " + StartFailed}},
		{r.ExitReported, Exited, Moment{}},
		{!r.Stop.At.IsZero() && r.Asked.After(r.Stop.At), Stopped, r.Stop},
		{r.Ended.After(r.Answered) && !r.Faulty, Running, Moment{"it ended", r.Ended}},
		{!r.EndedBy.At.IsZero() && r.Asked.Sub(told) > learnBound, Exited, r.EndedBy},
	} {
		may := views[known.State]
		switch {
		case !known.applies || r.State == may.reports || slices.Contains(may.also, r.State):
		case r.Listed && (known.State != NotReady || r.State != criview.Ready):
			return fact.Other, Moment{What: may.reports}
		default:
			return may.is, known.Moment
		}
	}
	return "", Moment{}
}
