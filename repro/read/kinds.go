package read

import (
	"maps"
	"slices"

	"github.com/shimquake/shimquake/oracle"
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
	class oracle.Class
	facts oracle.Facts
}

var kinds = map[What]kind{
	OrphanShim:     {Symptom, oracle.ClassShim, oracle.Facts{oracle.FactTask: oracle.None}},
	ShimWithoutPod: {Symptom, oracle.ClassShim, oracle.Facts{}},
	ChildlessShim:  {Symptom, oracle.ClassShim, oracle.Facts{oracle.FactChildren: oracle.None}},
	GrowingShims:   {Symptom, oracle.ClassShim, oracle.Facts{}},
	UnknownTask:    {Symptom, oracle.ClassTask, oracle.Facts{oracle.FactTask: "UNKNOWN"}},
	TaskNoProcess:  {Symptom, oracle.ClassTask, oracle.Facts{oracle.FactProcess: oracle.None}},
	LiveProcess:    {Symptom, oracle.ClassProcess, oracle.Facts{}},
	BundleLeft:     {Symptom, oracle.ClassBundle, oracle.Facts{}},
	HiddenBundle:   {Symptom, oracle.ClassBundle, oracle.Facts{oracle.FactBundle: oracle.Hidden}},
	SocketLeft:     {Symptom, oracle.ClassSocket, oracle.Facts{}},
	MountLeft:      {Symptom, oracle.ClassMount, oracle.Facts{}},
	CgroupLeft:     {Symptom, oracle.ClassCgroup, oracle.Facts{}},
	RuncLeft:       {Symptom, oracle.ClassRuncState, oracle.Facts{}},
	SandboxLeft:    {Symptom, oracle.ClassSandbox, oracle.Facts{}},
	ContainerLeft:  {Symptom, oracle.ClassContainer, oracle.Facts{oracle.FactTask: oracle.None}},
	Status255: {Symptom, oracle.ClassExitCode,
		oracle.Facts{oracle.FactBy: string(oracle.ByCRIStatus), oracle.FactStatus: oracle.MadeUp255}},
	Status137: {Symptom, oracle.ClassExitCode, oracle.Facts{oracle.FactStatus: oracle.MadeUp137}},
	StatusChanged: {Symptom, oracle.ClassEvent,
		oracle.Facts{oracle.FactEvent: oracle.Repeated, oracle.FactTopic: oracle.TopicExit,
			oracle.FactRepeat: oracle.OtherStatus}},
	ExitTwice: {Symptom, oracle.ClassEvent,
		oracle.Facts{oracle.FactEvent: oracle.Repeated, oracle.FactTopic: oracle.TopicExit}},
	EventWithoutPID: {Symptom, oracle.ClassEvent, oracle.Facts{oracle.FactEvent: oracle.NoPID}},
	EventMissing:    {Symptom, oracle.ClassEvent, oracle.Facts{oracle.FactEvent: oracle.Missing}},
	// What dockerd makes of an event that it cannot use. No fact of the oracle's is of
	// dockerd.
	StillRunning: {sort: Condition},
	StartError: {Symptom, oracle.ClassContainer,
		oracle.Facts{oracle.FactWhat: oracle.Removal}}, // as a pod that cannot be removed shows itself
	RunningTask:  {Symptom, oracle.ClassContainer, oracle.Facts{oracle.FactWhat: oracle.Removal}},
	RemovalFails: {Symptom, oracle.ClassContainer, oracle.Facts{oracle.FactWhat: oracle.Removal}},
	NameReserved: {Symptom, oracle.ClassContainer, oracle.Facts{oracle.FactWhat: oracle.IDReuse}},
	BootFails:    {Symptom, oracle.ClassDaemon, oracle.Facts{oracle.FactWhat: oracle.Boot}},
	IDInUse:      {Symptom, oracle.ClassDaemon, oracle.Facts{oracle.FactWhat: oracle.IDReuse}},
	Descriptors:  {Symptom, oracle.ClassHandle, oracle.Facts{oracle.FactKind: oracle.ADescriptor}},
	ShimPanics:   {sort: Symptom},
	Deadlock:     {Symptom, oracle.ClassDaemon, oracle.Facts{oracle.FactWhat: oracle.Answer}},

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
