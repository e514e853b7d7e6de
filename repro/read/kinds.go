package read

import (
	"maps"
	"slices"
	"strings"

	"github.com/shimquake/shimquake/oracle/finding"
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

// The kinds.
const (
	OrphanShim         Kind = "orphan-shim"
	ShimWithoutPod     Kind = "shim-without-pod"
	ChildlessShim      Kind = "childless-shim"
	GrowingShims       Kind = "growing-shims"
	UnknownTask        Kind = "unknown-task"
	CreatedTask        Kind = "created-task"
	StoppedTask        Kind = "stopped-task"
	CRIUnknown         Kind = "cri-unknown"
	CRICreated         Kind = "cri-created"
	Zombie             Kind = "zombie"
	TaskNoProcess      Kind = "task-without-process"
	LiveProcess        Kind = "process-without-shim"
	BundleLeft         Kind = "bundle-left"
	HiddenBundle       Kind = "hidden-bundle"
	SocketLeft         Kind = "socket-left"
	MountLeft          Kind = "mount-left"
	CgroupLeft         Kind = "cgroup-left"
	RuncLeft           Kind = "runc-state-left"
	ContainerLeft      Kind = "container-left"
	PodWithoutIP       Kind = "pod-without-ip"
	Status255          Kind = "status-255"
	Status137          Kind = "status-137"
	StatusChanged      Kind = "status-changed"
	ExitTwice          Kind = "exit-twice"
	EventWithoutPID    Kind = "event-without-pid"
	EventMissing       Kind = "event-missing"
	StillRunning       Kind = "still-running"
	StartError         Kind = "start-error"
	RemovalFails       Kind = "removal-fails"
	SandboxNameTaken   Kind = "sandbox-name-reserved"
	ContainerNameTaken Kind = "container-name-reserved"
	BootFails          Kind = "boot-fails"
	ContainerdEnds     Kind = "containerd-ends"
	IDInUse            Kind = "id-in-use"
	HoldsShutdown      Kind = "holds-shutdown"
	ShimPanics         Kind = "shim-panics"

	ContainerdDied    Kind = "containerd-died"
	ContainerdStarted Kind = "containerd-started"
	ShimDied          Kind = "shim-died"
	PauseDied         Kind = "pause-died"
	SlowDisk          Kind = "slow-disk"
	FullDisk          Kind = "full-disk"
	NoDescriptors     Kind = "too-many-files"
	ClientGaveUp      Kind = "client-gave-up"
	NRIRefused        Kind = "nri-refused"
	NetworkFailed     Kind = "network-failed"
	ManyExecs         Kind = "many-execs"
	RuntimeV1         Kind = "runtime-v1"
	HostShutdown      Kind = "host-shutdown"

	LoggedMessage Kind = "message"
	NamedFunction Kind = "function"
	NamedIssue    Kind = "issue"
	ShimNotAsked  Kind = "shim-not-asked"
	PodNotReady   Kind = "pod-not-ready"
	KernelWait    Kind = "kernel-wait"
	ForeignShim   Kind = "foreign-shim"
	ImagePull     Kind = "image-pull"
	OtherTrouble  Kind = "other-trouble"
)

// kind describes a Kind.
type kind struct {
	sort Sort
	// left is the matching finding of a run, such as "shim task=none", or "".
	left string
	// words describe the kind for people.
	words string
}

var kinds = map[Kind]kind{
	OrphanShim:     {Symptom, "shim task=none", "a shim of a container that containerd does not know"},
	ShimWithoutPod: {Symptom, "shim", "a shim of a pod that CRI does not list"},
	ChildlessShim:  {Symptom, "shim children=none", "a shim without children"},
	GrowingShims:   {Symptom, "shim", "the number of shims grows"},
	UnknownTask:    {Symptom, "task task=UNKNOWN", "a task in state UNKNOWN"},
	CreatedTask:    {Symptom, "task task=CREATED", "a task in state CREATED"},
	CRIUnknown: {Symptom, "cri-status reported=CONTAINER_UNKNOWN field=state object=container",
		"CRI lists a container as Unknown"},
	CRICreated: {Symptom, "cri-status reported=CONTAINER_CREATED field=state object=container",
		"CRI lists a container as Created"},
	Zombie:        {Symptom, "process state=zombie", "a zombie below a shim"},
	TaskNoProcess: {Symptom, "task process=none", "a task without its process"},
	LiveProcess:   {Symptom, "process", "a container's process still runs, without its shim"},
	BundleLeft:    {Symptom, "bundle", "a bundle of a container that containerd does not know"},
	HiddenBundle:  {Symptom, "bundle bundle=hidden", "a hidden, partly removed bundle"},
	SocketLeft:    {Symptom, "socket", "a shim's socket without a listener"},
	MountLeft:     {Symptom, "mount", "a mount of a container that containerd does not know"},
	CgroupLeft:    {Symptom, "cgroup", "a leaked cgroup"},
	RuncLeft:      {Symptom, "runc-state", "runc's state of a deleted container"},
	ContainerLeft: {Symptom, "container task=none", "a container without a task"},
	PodWithoutIP:  {Symptom, "cri-status field=ip object=sandbox", "CRI knows no IP address of a pod"},
	Status255:     {Symptom, "exit-code by=cri-status status=made-up-255", "CRI reports 255"},
	Status137:     {Symptom, "exit-code status=made-up-137", "137 is reported in place of another status"},
	StatusChanged: {Symptom, "event event=repeated topic=/tasks/exit repeat=other-status",
		"an exit is reported twice, with different statuses"},
	ExitTwice:       {Symptom, "event event=repeated topic=/tasks/exit", "an exit is reported twice"},
	EventWithoutPID: {Symptom, "event event=no-pid", "an event without a pid"},
	EventMissing:    {Symptom, "event event=missing", "an event that never came"},
	RemovalFails:    {Symptom, "container what=removal", "a removal fails"},
	BootFails:       {Symptom, "process what=boot", "containerd does not start"},
	ContainerdEnds:  {Symptom, "containerd what=death", "containerd ends with a fatal error"},
	IDInUse:         {Symptom, "containerd what=id-reuse", "an id is refused, because it is in use"},
	HoldsShutdown:   {Symptom, "shim what=shutdown", "the host's shutdown waits for a shim"},
	ShimPanics:      {Symptom, "", "a shim panics"},

	// No finding is about dockerd.
	StillRunning:      {Condition, "", "docker shows the container as running"},
	ContainerdDied:    {Condition, "", "containerd died"},
	ContainerdStarted: {Condition, "", "containerd was restarted"},
	ShimDied:          {Condition, "", "a shim died"},
	PauseDied:         {Condition, "", "a pause container died"},
	SlowDisk:          {Condition, "", "the disk was slow"},
	FullDisk:          {Condition, "", "the disk was full"},
	NoDescriptors:     {Condition, "", "too many files were open"},
	ClientGaveUp:      {Condition, "", "a call timed out, or was cancelled"},
	NRIRefused:        {Condition, "", "an NRI plugin refused"},
	NetworkFailed:     {Condition, "", "the pod's network failed"},
	ManyExecs:         {Condition, "", "many execs"},
	RuntimeV1:         {Condition, "", "runtime v1 is configured"},
	HostShutdown:      {Condition, "", "the host was shut down"},

	LoggedMessage: {Message, "", "a logged message"},

	NamedFunction: {Place, "", "a function of containerd"},

	NamedIssue: {Thread, "", "an issue"},

	// Each of these can be correct: no client has asked for the next step yet, or a create
	// is in flight.
	StoppedTask:        {Context, "", "a STOPPED task that is not deleted"},
	StartError:         {Context, "", "StartError, 128"},
	SandboxNameTaken:   {Context, "", "the name of a pod is refused, because it is reserved"},
	ContainerNameTaken: {Context, "", "the name of a container is refused, because it is reserved"},
	ShimNotAsked:       {Context, "", "a shim; no line shows whether containerd knows its container"},
	PodNotReady:        {Context, "", "a pod that is NotReady"},

	KernelWait:   {Elsewhere, "", "a process that the kernel blocks (state D)"},
	ForeignShim:  {Elsewhere, "", "a shim that is not containerd's own"},
	ImagePull:    {Elsewhere, "", "an image cannot be pulled"},
	OtherTrouble: {Elsewhere, "", "other trouble"},
}

// lefts has the parsed field left of each kind.
var lefts = func() map[Kind]finding.Match {
	all := map[Kind]finding.Match{}
	for w, k := range kinds {
		class, rest, _ := strings.Cut(k.left, " ")
		all[w] = finding.Match{Class: finding.Class(class), Facts: facts(strings.Fields(rest)...)}
	}
	return all
}()

// Words returns the description of the kind.
func (w Kind) Words() string { return kinds[w].words }

// Kinds returns all kinds of observations.
func Kinds() []Kind { return slices.Sorted(maps.Keys(kinds)) }
