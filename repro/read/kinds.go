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
	Symptom   Sort = iota // what is left, or reported wrongly, or cannot be done
	Condition             // what happened before
	Excluded              // what did not happen
	Message               // what containerd logged
	Place                 // a function that is named
	Thread                // an issue that is named
	Context               // what alone tells neither way
	Elsewhere             // what has nothing to do with shims
)

// The kinds.
const (
	OrphanShim      What = "orphan-shim"
	ShimWithoutPod  What = "shim-without-pod"
	ChildlessShim   What = "childless-shim"
	GrowingShims    What = "growing-shims"
	UnknownTask     What = "unknown-task"
	TaskNoProcess   What = "task-without-process"
	LiveProcess     What = "process-without-shim"
	BundleLeft      What = "bundle-left"
	HiddenBundle    What = "hidden-bundle"
	SocketLeft      What = "socket-left"
	MountLeft       What = "mount-left"
	CgroupLeft      What = "cgroup-left"
	RuncLeft        What = "runc-state-left"
	SandboxLeft     What = "sandbox-left"
	ContainerLeft   What = "container-left"
	PodWithoutIP    What = "pod-without-ip"
	Status255       What = "status-255"
	Status137       What = "status-137"
	StatusChanged   What = "status-changed"
	ExitTwice       What = "exit-twice"
	EventWithoutPID What = "event-without-pid"
	EventMissing    What = "event-missing"
	StillRunning    What = "still-running"
	StartError      What = "start-error"
	RunningTask     What = "running-task-refused"
	RemovalFails    What = "removal-fails"
	NameReserved    What = "name-reserved"
	BootFails       What = "boot-fails"
	IDInUse         What = "id-in-use"
	Descriptors     What = "descriptors"
	ShimPanics      What = "shim-panics"
	Deadlock        What = "no-answer"

	ContainerdDied    What = "containerd-died"
	ContainerdStarted What = "containerd-started"
	ShimDied          What = "shim-died"
	PauseDied         What = "pause-died"
	SlowDisk          What = "slow-disk"
	ExitNotHandled    What = "exit-not-handled"
	FullDisk          What = "full-disk"
	NoDescriptors     What = "too-many-files"
	ClientGaveUp      What = "client-gave-up"
	ShutdownFailed    What = "shutdown-failed"
	ConnectionClosed  What = "connection-closed"
	NotLoaded         What = "shim-not-loaded"
	NRIRefused        What = "nri-refused"
	NetworkFailed     What = "network-failed"
	ManyExecs         What = "many-execs"
	Churn             What = "churn"
	HeldStdout        What = "held-stdout"
	HostShutdown      What = "host-shutdown"

	ContainerdStayed What = "containerd-stayed"

	LoggedMessage What = "message"
	Sentence      What = "sentence"
	NamedFunction What = "function"
	NamedIssue    What = "issue"
	ShimNotAsked  What = "shim-not-asked"
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
	UnknownTask:    {Symptom, finding.ClassTask, fact.Facts{fact.Task: "UNKNOWN"}},
	TaskNoProcess:  {Symptom, finding.ClassTask, fact.Facts{fact.Process: fact.None}},
	LiveProcess:    {Symptom, finding.ClassProcess, fact.Facts{}},
	BundleLeft:     {Symptom, finding.ClassBundle, fact.Facts{}},
	HiddenBundle:   {Symptom, finding.ClassBundle, fact.Facts{fact.Bundle: fact.Hidden}},
	SocketLeft:     {Symptom, finding.ClassSocket, fact.Facts{}},
	MountLeft:      {Symptom, finding.ClassMount, fact.Facts{}},
	CgroupLeft:     {Symptom, finding.ClassCgroup, fact.Facts{}},
	RuncLeft:       {Symptom, finding.ClassRuncState, fact.Facts{}},
	SandboxLeft:    {Symptom, finding.ClassSandbox, fact.Facts{}},
	ContainerLeft:  {Symptom, finding.ClassContainer, fact.Facts{fact.Task: fact.None}},
	PodWithoutIP:   {Symptom, finding.ClassCRIStatus, fact.Facts{fact.Object: fact.ASandbox, fact.Field: fact.FieldIP}},
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
	// What dockerd makes of an event that it cannot use. No fact of the oracle's is of
	// dockerd.
	StillRunning: {sort: Condition},
	StartError: {Symptom, finding.ClassContainer,
		fact.Facts{fact.What: fact.Removal}}, // as a pod that cannot be removed shows itself
	RunningTask:  {Symptom, finding.ClassContainer, fact.Facts{fact.What: fact.Removal}},
	RemovalFails: {Symptom, finding.ClassContainer, fact.Facts{fact.What: fact.Removal}},
	NameReserved: {Symptom, finding.ClassContainer, fact.Facts{fact.What: fact.IDReuse}},
	BootFails:    {Symptom, finding.ClassDaemon, fact.Facts{fact.What: fact.Boot}},
	IDInUse:      {Symptom, finding.ClassDaemon, fact.Facts{fact.What: fact.IDReuse}},
	Descriptors:  {Symptom, finding.ClassHandle, fact.Facts{fact.Kind: fact.ADescriptor}},
	ShimPanics:   {sort: Symptom},
	Deadlock:     {Symptom, finding.ClassDaemon, fact.Facts{fact.What: fact.Answer}},

	ContainerdDied: {sort: Condition}, ContainerdStarted: {sort: Condition}, ShimDied: {sort: Condition},
	PauseDied: {sort: Condition}, SlowDisk: {sort: Condition}, ExitNotHandled: {sort: Condition},
	FullDisk: {sort: Condition}, NoDescriptors: {sort: Condition}, ClientGaveUp: {sort: Condition},
	ShutdownFailed: {sort: Condition}, ConnectionClosed: {sort: Condition}, NotLoaded: {sort: Condition},
	NRIRefused: {sort: Condition}, NetworkFailed: {sort: Condition}, ManyExecs: {sort: Condition},
	Churn: {sort: Condition}, HeldStdout: {sort: Condition}, HostShutdown: {sort: Condition},

	ContainerdStayed: {sort: Excluded},
	LoggedMessage:    {sort: Message}, Sentence: {sort: Message}, NamedFunction: {sort: Place},
	NamedIssue:   {sort: Thread},
	ShimNotAsked: {sort: Context},
	ImagePull:    {sort: Elsewhere}, OtherTrouble: {sort: Elsewhere},
}

// Whats are all kinds of things.
func Whats() []What { return slices.Sorted(maps.Keys(kinds)) }
