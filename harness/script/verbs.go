package script

// Verb is one row of the table of verbs.
type Verb struct {
	Name string
	// On is the kind of its objects.
	On On
	// Arg is the argument behind the objects.
	Arg Arg
	// Reverse has `all` mean the last container first.
	Reverse bool
	// Retried are the kinds of objects with which a client comes back after it has lost its
	// connection.
	Retried On
	// Does says in a few words what the client does.
	Does string
}

// On is a kind of object of verbs.
type On uint8

// The kinds.
const (
	OnNothing    On = iota
	OnContainers    // c0
	OnExecs         // c0/e0
	OnBoth
)

// Arg is a kind of argument of verbs.
type Arg uint8

// The kinds.
const (
	NoArg      Arg = iota
	MarkArg        // the name of a moment
	SignalArg      // SIGKILL
	DaemonArg      // containerd
	ReleaseArg     // v2.3.7, and where its programs are
)

// The names of verbs that others than a client's table know.
const (
	At   = "at"
	Join = "join"
	Exec = "exec"
	// Install is known by what a case needs to be built for it.
	Install = "install"
)

// Verbs are all verbs of the client of the task API, in the order of a lifecycle.
var Verbs = []Verb{
	{Name: "create", On: OnContainers, Does: "create the container, if there is none, and its task"},
	{Name: "start", On: OnBoth, Does: "start the task or the exec"},
	{Name: "end", On: OnBoth, Retried: OnBoth, Does: "let the process come to its configured end"},
	{Name: "kill", On: OnBoth, Arg: SignalArg, Retried: OnBoth, Does: "send a signal"},
	{Name: "wait", On: OnBoth, Retried: OnBoth, Does: "wait for the end, and learn the exit status"},
	{Name: "delete", On: OnBoth, Reverse: true, Retried: OnExecs, Does: "delete the task or the exec"},
	{Name: "pause", On: OnContainers, Does: "pause the task"},
	{Name: "resume", On: OnContainers, Retried: OnBoth, Does: "resume the task"},
	{Name: "add", On: OnExecs, Does: "add the exec, without a start"},
	{Name: Exec, On: OnExecs, Does: "add the exec and start it"},
	{Name: "restart", Arg: DaemonArg, Does: "restart containerd, and wait until it answers"},
	{Name: Install, Arg: ReleaseArg, Does: "replace containerd's programs: a start of it runs those of this release"},
	{Name: At, Arg: MarkArg, Does: "name this moment: faults of the plan can happen here"},
	{Name: Join, Does: "wait until all concurrent steps have ended"},
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

func names() []string {
	all := make([]string, len(Verbs))
	for i, v := range Verbs {
		all[i] = v.Name
	}
	return all
}
