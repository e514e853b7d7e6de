package script

import (
	"cmp"
	"slices"
)

// Verb is one row of the table of verbs.
type Verb struct {
	Name string
	// By has the clients that have the verb.
	By Client
	// On has the kinds of objects that the verb takes.
	On On
	// Arg is the kind of the argument after the objects.
	Arg Arg
	// Reverse makes `all` mean all containers in reverse order.
	Reverse bool
	// Retried has the kinds of objects for which the client retries the call after it has
	// lost its connection.
	Retried On
	// Role is the verb's part in the life of its object.
	Role Role
	// Call and PodCall are the CRI calls that the verb makes about a container, and about
	// the pod. Beside has further calls, which wait for no process.
	Call, PodCall string
	Beside        []string
	// Path is the step of the lifecycle to which the verb's calls belong: create, start,
	// exit or delete. The default for a verb about an object is exit. The container is then
	// in the same state as while the client waits for its exit.
	Path string
	// Waits is set if the verb's calls wait for the end of a process.
	Waits bool
	// NoRow is the reason why the model has no row for the verb, or "" if it has one.
	NoRow string
	// Does says in a few words what the client does.
	Does string
}

// Client is a set of clients.
type Client uint8

// The clients.
const (
	Task Client = 1 << iota // of the task API
	CRI
)

const both = Task | CRI

// On is a set of kinds of objects.
type On uint8

// The kinds.
const (
	OnPod        On = 1 << iota
	OnContainers    // c0
	OnExecs         // c0/e0
	OnAttached      // c0/a0
	OnNothing    On = 0
	OnBoth          = OnContainers | OnExecs
)

// Arg is a kind of argument of verbs.
type Arg uint8

// The kinds.
const (
	NoArg            Arg = iota
	MarkArg              // the name of a moment
	SignalArg            // SIGKILL
	DaemonArg            // containerd
	ReleaseArg           // v2.3.7, and where its programs are
	DurationArg          // 6s
	MaybeDurationArg     // 1s, or nothing
	LinesArg             // a number of lines
)

// Role is a verb's part in the life of its object.
type Role uint8

// The roles.
const (
	NoRole Role = iota
	Makes       // makes the object
	Starts      // starts the object
	Awaits      // is of use only for an object that was started
	Inside      // needs a container that was started
)

// The names of verbs that code outside of the clients uses.
const (
	Mark = "mark"
	Join = "join"
	Exec = "exec"
	// The runner builds the containerd of each Install step in advance.
	Install = "install"
)

// Verbs are all verbs, in the order of a lifecycle.
var Verbs = []Verb{
	{Name: "run", By: CRI, On: OnPod, Role: Makes, PodCall: "RunPodSandbox", Path: "create", Does: "run the pod"},
	{Name: "new", By: Task, On: OnContainers, Path: "create", NoRow: "it makes no task",
		Does: "create the container, without a task"},
	{Name: "create", By: both, On: OnContainers, Role: Makes, Call: "CreateContainer", Path: "create",
		Does: "create the container, unless it exists, and its task"},
	{Name: "add", By: Task, On: OnExecs, Role: Makes, Does: "add the exec, and do not start it"},
	{Name: "start", By: both, On: OnBoth, Role: Starts, Call: "StartContainer", Path: "start",
		Does: "start the task or the exec"},
	{Name: "end", By: both, On: OnBoth, Role: Awaits, Beside: []string{"close-io"}, Waits: true, Retried: OnBoth,
		Does: "make the process end with its configured exit or signal"},
	{Name: "kill", By: Task, On: OnBoth, Arg: SignalArg, Retried: OnBoth, Does: "send a signal to the task or the exec"},
	{Name: "stop", By: CRI, On: OnPod | OnContainers, Role: Awaits, Call: "StopContainer", PodCall: "StopPodSandbox",
		Does: "stop the container or the pod"},
	{Name: "wait", By: both, On: OnBoth, Role: Awaits, Call: "await", Waits: true, Retried: OnBoth,
		Beside: []string{"Get", "State", "List", "Kill"}, // status calls about a bystander
		Does:   "wait until the process ends, and get its exit status"},
	{Name: "delete", By: Task, On: OnBoth, Path: "delete", Reverse: true, Retried: OnExecs,
		Does: "delete the task or the exec"},
	{Name: "remove", By: CRI, On: OnPod | OnContainers, Call: "RemoveContainer", PodCall: "RemovePodSandbox",
		Beside: []string{"StopPodSandbox", "ListPodSandbox"}, Path: "delete", Does: "remove the container or the pod"},
	{Name: "pause", By: Task, On: OnContainers, Does: "pause the task"},
	{Name: "resume", By: Task, On: OnContainers, Retried: OnContainers, Does: "resume the task"},
	{Name: Exec, By: both, On: OnExecs, Role: Starts, Call: "Exec", Waits: true, NoRow: "it is an add and a start",
		Does: "add the exec and start it; with CRI, run it through a stream until it ends"},
	{Name: "oom", By: CRI, On: OnContainers, Role: Awaits, NoRow: "the container runs on",
		Does: "make a child exceed the memory limit; the container keeps running"},
	{Name: "execsync", By: CRI, On: OnExecs, Arg: MaybeDurationArg, Role: Inside, Call: "ExecSync", Waits: true,
		Does: "call ExecSync, with a timeout if the step has one"},
	{Name: "attach", By: CRI, On: OnAttached, Role: Inside, Call: "Attach", Waits: true,
		Does: "attach a client to the container, until the container ends"},
	{Name: "write", By: CRI, On: OnExecs | OnAttached, Arg: LinesArg, Role: Inside, NoRow: stream,
		Does: "write this number of lines to the stdin of the stream"},
	{Name: "close", By: CRI, On: OnExecs | OnAttached, Role: Inside, NoRow: stream,
		Does: "close the stdin of the stream"},
	{Name: "disconnect", By: CRI, On: OnExecs | OnAttached, Role: Inside, NoRow: stream,
		Does: "close the connection of the stream"},
	{Name: "rotate", By: CRI, On: OnContainers, Role: Inside, Call: "ReopenContainerLog", NoRow: "it is about a log",
		Does: "rename the container's log, and ask CRI to open a new one"},
	{Name: "cancel", By: CRI, On: OnContainers | OnExecs, Role: Inside, NoRow: "the cancelled call has a response",
		Does: "cancel the call of the earlier `&` step for this object"},
	{Name: "listen", By: CRI, Does: "start another client of GetContainerEvents, which disconnects at its first event"},
	{Name: "reuse-pid", By: Task, On: OnBoth, NoRow: "containerd is not asked",
		Does: "give another process the pid that the ended process had"},
	{Name: "soak", By: both, Arg: DurationArg, Does: "let the containers run for this time"},
	{Name: "inventory", By: CRI, Path: "asking", Waits: true,
		Does: "list what containerd, shims and kernel hold, and compare it with the previous list"},
	{Name: "restart", By: both, Arg: DaemonArg, Does: "restart containerd, and wait until it responds"},
	{Name: Install, By: both, Arg: ReleaseArg,
		Does: "replace containerd's programs with this release: processes that start later run it"},
	{Name: Mark, By: both, Arg: MarkArg,
		Does: "let the plan's faults in this state (created, running, exited) happen now"},
	{Name: Join, By: both, Does: "wait until all concurrent steps have ended"},
}

const stream = "it is about a stream"

// Called returns the path of a call in a history, or "", and whether it waits. A call of
// two verbs belongs to the later one.
func Called(name string) (path string, waits bool) {
	for _, v := range slices.Backward(Verbs) {
		beside := slices.Contains(v.Beside, name)
		switch {
		case !beside && name != v.Name && name != v.Call && name != v.PodCall:
		case v.Path == "" && v.On != OnNothing:
			return "exit", v.Waits && !beside
		default:
			return v.Path, v.Waits && !beside
		}
	}
	return "", false
}

// CRICall returns the call of CRI that a step makes about an object, or the verb if it
// makes no other.
func CRICall(verb string, of Object) string {
	v, _ := Named(verb)
	if of == ThePod {
		return cmp.Or(v.PodCall, verb)
	}
	return cmp.Or(v.Call, verb)
}

// ObjectKinds returns the kinds of objects that the verb has by a client. By CRI one
// call runs an exec to its end.
func (v Verb) ObjectKinds(by Client) On {
	if by == CRI && v.By != CRI && v.Name != Exec {
		return v.On &^ OnExecs
	}
	return v.On
}

// Marks are the moments that points of the plan know.
var Marks = []string{"created", "running", "exited"}

// Signals are the signals that a step can send.
var Signals = []string{"SIGKILL", "SIGTERM", "SIGUSR1"}

// daemons are the processes that a step can restart.
var daemons = []string{"containerd"}

// Named returns the row of a verb.
func Named(name string) (Verb, bool) {
	for _, v := range Verbs {
		if v.Name == name {
			return v, true
		}
	}
	return Verb{}, false
}

// names are the names of a client's verbs.
func names(by Client) (all []string) {
	for _, v := range Verbs {
		if v.By&by != 0 {
			all = append(all, v.Name)
		}
	}
	return all
}
