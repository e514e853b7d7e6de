package read

import (
	"maps"
	"slices"
	"strings"

	"github.com/shimquake/shimquake/oracle/finding"
)

// ObservationKind is a kind of observation in a report, such as a shim without
// children.
type ObservationKind string

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
	OrphanShim         ObservationKind = "orphan-shim"
	ShimWithoutPod     ObservationKind = "shim-without-pod"
	ChildlessShim      ObservationKind = "childless-shim"
	GrowingShims       ObservationKind = "growing-shims"
	UnknownTask        ObservationKind = "unknown-task"
	CreatedTask        ObservationKind = "created-task"
	StoppedTask        ObservationKind = "stopped-task"
	CRIUnknown         ObservationKind = "cri-unknown"
	CRICreated         ObservationKind = "cri-created"
	Zombie             ObservationKind = "zombie"
	TaskNoProcess      ObservationKind = "task-without-process"
	LiveProcess        ObservationKind = "process-without-shim"
	BundleLeft         ObservationKind = "bundle-left"
	HiddenBundle       ObservationKind = "hidden-bundle"
	SocketLeft         ObservationKind = "socket-left"
	MountLeft          ObservationKind = "mount-left"
	CgroupLeft         ObservationKind = "cgroup-left"
	RuncLeft           ObservationKind = "runc-state-left"
	ContainerLeft      ObservationKind = "container-left"
	PodWithoutIP       ObservationKind = "pod-without-ip"
	Status255          ObservationKind = "status-255"
	Status137          ObservationKind = "status-137"
	StatusChanged      ObservationKind = "status-changed"
	ExitTwice          ObservationKind = "exit-twice"
	EventWithoutPID    ObservationKind = "event-without-pid"
	EventMissing       ObservationKind = "event-missing"
	StillRunning       ObservationKind = "still-running"
	StartError         ObservationKind = "start-error"
	RemovalFails       ObservationKind = "removal-fails"
	SandboxNameTaken   ObservationKind = "sandbox-name-reserved"
	ContainerNameTaken ObservationKind = "container-name-reserved"
	BootFails          ObservationKind = "boot-fails"
	ContainerdEnds     ObservationKind = "containerd-ends"
	IDInUse            ObservationKind = "id-in-use"
	HoldsShutdown      ObservationKind = "holds-shutdown"
	ShimPanics         ObservationKind = "shim-panics"

	ContainerdDied    ObservationKind = "containerd-died"
	ContainerdStarted ObservationKind = "containerd-started"
	ShimDied          ObservationKind = "shim-died"
	PauseDied         ObservationKind = "pause-died"
	SlowDisk          ObservationKind = "slow-disk"
	FullDisk          ObservationKind = "full-disk"
	NoDescriptors     ObservationKind = "too-many-files"
	ClientGaveUp      ObservationKind = "client-gave-up"
	NRIRefused        ObservationKind = "nri-refused"
	NetworkFailed     ObservationKind = "network-failed"
	ManyExecs         ObservationKind = "many-execs"
	RuntimeV1         ObservationKind = "runtime-v1"
	HostShutdown      ObservationKind = "host-shutdown"

	LoggedMessage ObservationKind = "message"
	NamedFunction ObservationKind = "function"
	NamedIssue    ObservationKind = "issue"
	ShimNotAsked  ObservationKind = "shim-not-asked"
	PodNotReady   ObservationKind = "pod-not-ready"
	KernelWait    ObservationKind = "kernel-wait"
	ForeignShim   ObservationKind = "foreign-shim"
	ImagePull     ObservationKind = "image-pull"
	OtherTrouble  ObservationKind = "other-trouble"
)

// kind describes an ObservationKind.
type kind struct {
	sort Sort
	// left is the matching finding of a run, such as "shim task=none", or "".
	left string
	// words describe the kind for people.
	words string
}

var kinds = map[ObservationKind]kind{
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
var lefts = func() map[ObservationKind]finding.Match {
	all := map[ObservationKind]finding.Match{}
	for w, k := range kinds {
		class, rest, _ := strings.Cut(k.left, " ")
		all[w] = finding.Match{Class: finding.Class(class), Facts: facts(strings.Fields(rest)...)}
	}
	return all
}()

// Words returns the description of the kind.
func (w ObservationKind) Words() string { return kinds[w].words }

// ObservationKinds returns all kinds of observations.
func ObservationKinds() []ObservationKind { return slices.Sorted(maps.Keys(kinds)) }
