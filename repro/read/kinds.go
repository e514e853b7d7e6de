package read

import (
	"maps"
	"slices"

	"github.com/shimquake/shimquake/oracle/event"
	"github.com/shimquake/shimquake/oracle/exit"
	"github.com/shimquake/shimquake/oracle/fact"
	"github.com/shimquake/shimquake/oracle/finding"
)

// What is a kind of thing that a report can tell.
type What string

// Sort is what an observation is good for.
type Sort int

// The sorts.
const (
	Symptom   Sort = iota // a leak, a wrong report, a refused call
	Condition             // an event before that
	Message               // a line of containerd's log
	Place                 // a function that is named
	Thread                // an issue that is named
	Context               // alone it is no evidence
	Elsewhere             // trouble that has nothing to do with shims
)

// The kinds.
const (
	OrphanShim         What = "orphan-shim"
	ShimWithoutPod     What = "shim-without-pod"
	ChildlessShim      What = "childless-shim"
	GrowingShims       What = "growing-shims"
	UnknownTask        What = "unknown-task"
	CreatedTask        What = "created-task"
	StoppedTask        What = "stopped-task"
	CRIUnknown         What = "cri-unknown"
	CRICreated         What = "cri-created"
	Zombie             What = "zombie"
	TaskNoProcess      What = "task-without-process"
	LiveProcess        What = "process-without-shim"
	BundleLeft         What = "bundle-left"
	HiddenBundle       What = "hidden-bundle"
	SocketLeft         What = "socket-left"
	MountLeft          What = "mount-left"
	CgroupLeft         What = "cgroup-left"
	RuncLeft           What = "runc-state-left"
	SandboxLeft        What = "sandbox-left"
	ContainerLeft      What = "container-left"
	PodWithoutIP       What = "pod-without-ip"
	Status255          What = "status-255"
	Status137          What = "status-137"
	StatusChanged      What = "status-changed"
	ExitTwice          What = "exit-twice"
	EventWithoutPID    What = "event-without-pid"
	EventMissing       What = "event-missing"
	StillRunning       What = "still-running"
	StartError         What = "start-error"
	RemovalFails       What = "removal-fails"
	SandboxNameTaken   What = "sandbox-name-reserved"
	ContainerNameTaken What = "container-name-reserved"
	BootFails          What = "boot-fails"
	ContainerdEnds     What = "containerd-ends"
	IDInUse            What = "id-in-use"
	Descriptors        What = "descriptors"
	HoldsShutdown      What = "holds-shutdown"
	ShimPanics         What = "shim-panics"
	Deadlock           What = "no-answer"

	ContainerdDied    What = "containerd-died"
	ContainerdStarted What = "containerd-started"
	ShimDied          What = "shim-died"
	PauseDied         What = "pause-died"
	SlowDisk          What = "slow-disk"
	FullDisk          What = "full-disk"
	NoDescriptors     What = "too-many-files"
	ClientGaveUp      What = "client-gave-up"
	NRIRefused        What = "nri-refused"
	NetworkFailed     What = "network-failed"
	ManyExecs         What = "many-execs"
	RuntimeV1         What = "runtime-v1"
	HostShutdown      What = "host-shutdown"

	LoggedMessage What = "message"
	NamedFunction What = "function"
	NamedIssue    What = "issue"
	ShimNotAsked  What = "shim-not-asked"
	PodNotReady   What = "pod-not-ready"
	KernelWait    What = "kernel-wait"
	ForeignShim   What = "foreign-shim"
	ImagePull     What = "image-pull"
	OtherTrouble  What = "other-trouble"
)

// kind is what the code must know of a What: its sort, and the oracle's class and facts
// that it stands for.
type kind struct {
	sort  Sort
	class finding.Class
	facts fact.Facts
}

var kinds = map[What]kind{
	OrphanShim:     {Symptom, finding.ClassShim, fact.Facts{fact.Task: fact.None}},
	ShimWithoutPod: {Symptom, finding.ClassShim, fact.Facts{}},
	ChildlessShim:  {Symptom, finding.ClassShim, fact.Facts{fact.Children: fact.None}},
	GrowingShims:   {Symptom, finding.ClassShim, fact.Facts{}},
	UnknownTask:    {Symptom, finding.ClassTask, fact.Facts{fact.Task: fact.TaskUnknown}},
	CreatedTask:    {Symptom, finding.ClassTask, fact.Facts{fact.Task: "CREATED"}},
	CRIUnknown: {Symptom, finding.ClassCRIStatus, fact.Facts{fact.Object: fact.AContainer, fact.Field: fact.FieldState,
		fact.Reported: "CONTAINER_UNKNOWN"}},
	CRICreated: {Symptom, finding.ClassCRIStatus, fact.Facts{fact.Object: fact.AContainer, fact.Field: fact.FieldState,
		fact.Reported: "CONTAINER_CREATED"}},
	Zombie:        {Symptom, finding.ClassProcess, fact.Facts{fact.State: fact.AZombie}},
	TaskNoProcess: {Symptom, finding.ClassTask, fact.Facts{fact.Process: fact.None}},
	LiveProcess:   {Symptom, finding.ClassProcess, fact.Facts{}},
	BundleLeft:    {Symptom, finding.ClassBundle, fact.Facts{}},
	HiddenBundle:  {Symptom, finding.ClassBundle, fact.Facts{fact.Bundle: fact.Hidden}},
	SocketLeft:    {Symptom, finding.ClassSocket, fact.Facts{}},
	MountLeft:     {Symptom, finding.ClassMount, fact.Facts{}},
	CgroupLeft:    {Symptom, finding.ClassCgroup, fact.Facts{}},
	RuncLeft:      {Symptom, finding.ClassRuncState, fact.Facts{}},
	SandboxLeft:   {Symptom, finding.ClassSandbox, fact.Facts{}},
	ContainerLeft: {Symptom, finding.ClassContainer, fact.Facts{fact.Task: fact.None}},
	PodWithoutIP:  {Symptom, finding.ClassCRIStatus, fact.Facts{fact.Object: fact.ASandbox, fact.Field: fact.FieldIP}},
	Status255: {Symptom, finding.ClassExitCode,
		fact.Facts{fact.By: string(exit.ByCRIStatus), fact.Status: fact.MadeUp255}},
	Status137: {Symptom, finding.ClassExitCode, fact.Facts{fact.Status: fact.MadeUp137}},
	StatusChanged: {Symptom, finding.ClassEvent,
		fact.Facts{fact.Event: fact.Repeated, fact.Topic: event.TopicExit,
			fact.Repeat: fact.OtherStatus}},
	ExitTwice: {Symptom, finding.ClassEvent,
		fact.Facts{fact.Event: fact.Repeated, fact.Topic: event.TopicExit}},
	EventWithoutPID: {Symptom, finding.ClassEvent, fact.Facts{fact.Event: fact.NoPID}},
	EventMissing:    {Symptom, finding.ClassEvent, fact.Facts{fact.Event: fact.Missing}},
	// The oracle has no fact about dockerd.
	StillRunning:   {sort: Condition},
	RemovalFails:   {Symptom, finding.ClassContainer, fact.Facts{fact.What: fact.Removal}},
	BootFails:      {Symptom, finding.ClassProcess, fact.Facts{fact.What: fact.Boot}},
	ContainerdEnds: {Symptom, finding.ClassDaemon, fact.Facts{fact.What: fact.Death}},
	IDInUse:        {Symptom, finding.ClassDaemon, fact.Facts{fact.What: fact.IDReuse}},
	Descriptors:    {Symptom, finding.ClassHandle, fact.Facts{fact.Kind: fact.ADescriptor}},
	HoldsShutdown:  {Symptom, finding.ClassShim, fact.Facts{fact.What: fact.Shutdown}},
	ShimPanics:     {sort: Symptom},
	Deadlock:       {Symptom, finding.ClassDaemon, fact.Facts{fact.What: fact.Answer}},

	ContainerdDied: {sort: Condition}, ContainerdStarted: {sort: Condition}, ShimDied: {sort: Condition},
	PauseDied: {sort: Condition}, SlowDisk: {sort: Condition}, FullDisk: {sort: Condition},
	NoDescriptors: {sort: Condition}, ClientGaveUp: {sort: Condition}, NRIRefused: {sort: Condition},
	NetworkFailed: {sort: Condition}, ManyExecs: {sort: Condition}, HostShutdown: {sort: Condition},
	RuntimeV1: {sort: Condition},

	LoggedMessage: {sort: Message}, NamedFunction: {sort: Place}, NamedIssue: {sort: Thread},
	ShimNotAsked: {sort: Context}, StartError: {sort: Context}, PodNotReady: {sort: Context},
	// Rightly so, as long as a client has not asked for more, or a create runs.
	StoppedTask: {sort: Context}, SandboxNameTaken: {sort: Context}, ContainerNameTaken: {sort: Context},
	ForeignShim: {sort: Elsewhere}, ImagePull: {sort: Elsewhere}, OtherTrouble: {sort: Elsewhere},
	KernelWait: {sort: Elsewhere},
}

// Whats are all kinds of things.
func Whats() []What { return slices.Sorted(maps.Keys(kinds)) }
