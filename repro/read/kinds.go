package read

import (
	"cmp"
	"slices"
	"strings"

	"github.com/shimquake/shimquake/oracle/finding"
	"github.com/shimquake/shimquake/oracle/wording"
)

// Kind is a kind of observation in a report, such as a shim without children.
type Kind string

// Sort says what an observation is evidence for.
type Sort int

// The sorts.
const (
	// Symptom is a leak, a wrong report or a refused call.
	Symptom Sort = iota
	// Condition is an event before the symptom.
	Condition
	// Message is a line of containerd's log.
	Message
	// Place is the name of a function.
	Place
	// Thread is the name of an issue.
	Thread
	// Context is no evidence by itself.
	Context
	// Elsewhere is trouble that does not concern shims.
	Elsewhere
)

// kind describes a Kind.
type kind struct {
	sort Sort
	// left is the matching finding of a run, such as "shim task=none".
	left finding.Match
	// words describe the kind for people. A symptom without words has the noun of its
	// finding.
	words string
}

var (
	kinds = map[Kind]kind{}
	names []Kind // of kinds, in their order
)

// add notes a kind. If a run finds the same, left is its match.
func add(sort Sort, name Kind, left, words string) Kind {
	class, rest, _ := strings.Cut(left, " ")
	m := finding.Match{Class: finding.Class(class), Facts: facts(strings.Fields(rest)...)}
	kinds[name], names = kind{sort, m, words}, append(names, name)
	return name
}

// The symptoms. An audit's suspect is the first one of its class.
var (
	OrphanShim = add(Symptom, "orphan-shim", "shim task=none",
		"a shim of a container that containerd does not know")
	TaskNoProcess = add(Symptom, "task-without-process", "task process=none", "a task without its process")
	LiveProcess   = add(Symptom, "process-without-shim", "process",
		"a container's process still runs, without its shim")
	BundleLeft = add(Symptom, "bundle-left", "bundle",
		"a bundle of a container that containerd does not know")
	HiddenBundle   = add(Symptom, "hidden-bundle", "bundle bundle=hidden", "a hidden, partly removed bundle")
	ContainerLeft  = add(Symptom, "container-left", "container task=none", "a container without a task")
	ShimWithoutPod = add(Symptom, "shim-without-pod", "shim", "a shim of a pod that CRI does not list")
	ChildlessShim  = add(Symptom, "childless-shim", "shim children=none", "a shim without children")
	GrowingShims   = add(Symptom, "growing-shims", "shim", "the number of shims grows")
	UnknownTask    = add(Symptom, "unknown-task", "task task=UNKNOWN", "a task in state UNKNOWN")
	CreatedTask    = add(Symptom, "created-task", "task task=CREATED", "a task in state CREATED")
	CRIUnknown     = add(Symptom, "cri-unknown",
		"cri-status reported=CONTAINER_UNKNOWN field=state object=container",
		"CRI lists a container as Unknown")
	CRICreated = add(Symptom, "cri-created",
		"cri-status reported=CONTAINER_CREATED field=state object=container",
		"CRI lists a container as Created")
	Zombie       = add(Symptom, "zombie", "process state=zombie", "a zombie below a shim")
	SocketLeft   = add(Symptom, "socket-left", "socket", "a shim's socket without a listener")
	MountLeft    = add(Symptom, "mount-left", "mount", "a mount of a container that containerd does not know")
	CgroupLeft   = add(Symptom, "cgroup-left", "cgroup", "")
	RuncLeft     = add(Symptom, "runc-state-left", "runc-state", "runc's state of a deleted container")
	PodWithoutIP = add(Symptom, "pod-without-ip", "cri-status field=ip object=sandbox",
		"CRI knows no IP address of a pod")
	Status255 = add(Symptom, "status-255", "exit-code by=cri-status status=made-up-255", "CRI reports 255")
	Status137 = add(Symptom, "status-137", "exit-code status=made-up-137",
		"137 is reported in place of another status")
	StatusChanged = add(Symptom, "status-changed",
		"event event=repeated topic=/tasks/exit repeat=other-status",
		"an exit is reported twice, with different statuses")
	ExitTwice = add(Symptom, "exit-twice", "event event=repeated topic=/tasks/exit",
		"an exit is reported twice")
	EventWithoutPID = add(Symptom, "event-without-pid", "event event=no-pid", "")
	EventMissing    = add(Symptom, "event-missing", "event event=missing", "")
	RemovalFails    = add(Symptom, "removal-fails", "container what=removal", "a removal fails")
	BootFails       = add(Symptom, "boot-fails", "process what=boot", "")
	ContainerdEnds  = add(Symptom, "containerd-ends", "containerd what=death",
		"containerd ends with a fatal error")
	IDInUse = add(Symptom, "id-in-use", "containerd what=id-reuse",
		"an id is refused, because it is in use")
	HoldsShutdown = add(Symptom, "holds-shutdown", "shim what=shutdown",
		"the host's shutdown waits for a shim")
	ShimPanics = add(Symptom, "shim-panics", "", "a shim panics")
)

// The other kinds.
var (
	// No finding is about dockerd.
	StillRunning      = add(Condition, "still-running", "", "docker shows the container as running")
	ContainerdDied    = add(Condition, "containerd-died", "", "containerd died")
	ContainerdStarted = add(Condition, "containerd-started", "", "containerd was restarted")
	ShimDied          = add(Condition, "shim-died", "", "a shim died")
	PauseDied         = add(Condition, "pause-died", "", "a pause container died")
	SlowDisk          = add(Condition, "slow-disk", "", "the disk was slow")
	FullDisk          = add(Condition, "full-disk", "", "the disk was full")
	NoDescriptors     = add(Condition, "too-many-files", "", "too many files were open")
	ClientGaveUp      = add(Condition, "client-gave-up", "", "a call timed out, or was cancelled")
	NRIRefused        = add(Condition, "nri-refused", "", "an NRI plugin refused")
	NetworkFailed     = add(Condition, "network-failed", "", "the pod's network failed")
	ManyExecs         = add(Condition, "many-execs", "", "many execs")
	RuntimeV1         = add(Condition, "runtime-v1", "", "runtime v1 is configured")
	HostShutdown      = add(Condition, "host-shutdown", "", "the host was shut down")

	LoggedMessage = add(Message, "message", "", "a logged message")
	NamedFunction = add(Place, "function", "", "a function of containerd")
	NamedIssue    = add(Thread, "issue", "", "an issue")

	// Each of these can be correct: no client has asked for the next step yet, or a create
	// is in flight.
	StoppedTask      = add(Context, "stopped-task", "", "a STOPPED task that is not deleted")
	StartError       = add(Context, "start-error", "", "StartError, 128")
	SandboxNameTaken = add(Context, "sandbox-name-reserved", "",
		"the name of a pod is refused, because it is reserved")
	ContainerNameTaken = add(Context, "container-name-reserved", "",
		"the name of a container is refused, because it is reserved")
	ShimNotAsked = add(Context, "shim-not-asked", "",
		"a shim; no line shows whether containerd knows its container")
	PodNotReady = add(Context, "pod-not-ready", "", "a pod that is NotReady")

	KernelWait   = add(Elsewhere, "kernel-wait", "", "a process that the kernel blocks (state D)")
	ForeignShim  = add(Elsewhere, "foreign-shim", "", "a shim that is not containerd's own")
	ImagePull    = add(Elsewhere, "image-pull", "", "an image cannot be pulled")
	OtherTrouble = add(Elsewhere, "other-trouble", "", "other trouble")
)

// Words returns the description of the kind.
func (w Kind) Words() string { return cmp.Or(kinds[w].words, wording.Match(kinds[w].left)) }

// Kinds returns all kinds of observations.
func Kinds() []Kind { return slices.Clone(names) }

// kindOf returns the first kind of a class, or "".
func kindOf(class finding.Class) Kind {
	for _, w := range names {
		if kinds[w].left.Class == class {
			return w
		}
	}
	return ""
}
