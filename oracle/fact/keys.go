package fact

import "slices"

// Key names one kind of fact: Task, Bundle, ...
type Key uint8

// String is the key's name in the text form.
func (k Key) String() string { return keys[k].name }

// Values are those that a fact of the key may have; nil: any.
func (k Key) Values() []string { return slices.Clone(keys[k].values) }

// The keys of facts. A key that is added gets a line in keys, too.
const (
	// Of what belongs together: the task, bundle, shim, ... of the subject's id.
	Task      Key = iota // containerd's task: its status, none, or not-asked
	Container            // containerd's record of the container
	Bundle
	Socket
	Shim    // of an exit: whether it had died by then
	Process // of a task: whether its pid is a process
	Holder  // who listens on a socket
	Create  // of a cgroup, or of an event without a pid: how the creation of its container ended
	Lease   // what keeps a snapshot from being collected
	Served  // of a group: whose shim served it last, or that two did at once

	// Of whom it is.
	Whose // the container's name in the workload, or the sandbox

	// Of a process.
	Owner    // whether a container is known that it is of
	Program  // the name of its program
	Parent   // who its parent is
	Children // whether it has some
	State    // what keeps it from ending
	Helper   // which of a shim's short-lived helpers it is

	// Of files, mounts and cgroups.
	Kind      // of a file, a handle or a record of the metadata: what it is
	Path      // of a file, without what is of one case only
	Handle    // what a handle leads to, or where a goroutine is
	MountType // of a filesystem: overlay
	Size      // of a file that was there before: that it has grown
	Procs     // whether a cgroup holds processes
	Groups    // whether a cgroup holds others
	Network   // its name in CNI's configuration
	Netns     // whether the network namespace of a pod is still mounted
	Expires   // whether a lease, or what it keeps, ends by itself

	// Of an exit status that was reported.
	By         // the Observer
	Status     // what kind of wrong status it is
	Reported   // the status itself
	True       // the real one
	Want       // the one that the workload has the container end with
	Source     // how that is known
	SentBy     // who sent the signal that the status stands for
	Containerd // where it was when the container ended

	// Of an event.
	Event  // what is wrong with it
	Topic  // its topic
	Of     // exec, where it is not of a container's init process
	After  // what it came after
	Repeat // what differs from the first of its kind
	Use    // of which use of its id
	Last   // it was the last thing that the shim had to send

	// Of what CRI says.
	Field  // which field of a status, or of an event
	Is     // what is wrong with it
	Listed // who alone lists what there is
	In     // where something was left: in a pod that lives on; whose was taken: of the living

	// Of containerd and of clients' calls.
	What    // what did not succeed
	Object  // what could not be removed: a pod, a container
	Call    // the client's call that failed last
	Code    // its gRPC code
	Message // its message, without ids, numbers and times
	Exit    // the status that containerd ended with
	Asked   // whether it was asked to end, by SIGTERM
	Output  // what is wrong with what was read of a container's output
	Stream  // of which of its two

	// What only people want to know: of one case alone.
	Error
	TaskPID
	ShimPID
	ParentPID
	ChildPIDs
	Count // of processes in a cgroup, of equal findings, of handles that are too many, of bytes
	Most  // how many there may be
	Stack // of a goroutine
	Hierarchies
	LeaseID
	At
	First // the status of the first event of two
	Apart
	NotBefore // an end
	NotAfter
	Bound
	Residue // of a note: the known residue that did not appear

	factCount
)

// topics are those of containerd's events and the types of CRI's, as packages event and
// criview name them.
var topics = []string{
	"/tasks/create", "/tasks/start", "/tasks/exit", "/tasks/delete", "/tasks/paused", "/tasks/resumed",
	"/tasks/exec-added", "/tasks/exec-started", "/tasks/oom",
	"CONTAINER_CREATED_EVENT", "CONTAINER_STARTED_EVENT", "CONTAINER_STOPPED_EVENT", "CONTAINER_DELETED_EVENT",
}

// scope is how far a fact reaches.
type scope uint8

const (
	inCause  scope = iota // findings of one cause have it in common
	inMatch               // it can be matched, and may differ between the cases of one cause
	inDetail              // it is of one case alone
)

var keys = [factCount]struct {
	name   string
	scope  scope
	values []string // nil: any
}{
	Task: {
		"task",
		inCause,
		[]string{None, NotAsked, TaskUnknown, "CREATED", "RUNNING", TaskStopped, "PAUSED", "PAUSING"},
	},
	Container: {"container", inCause, []string{None, There}},
	Bundle:    {"bundle", inCause, []string{Gone, There, Hidden, Named, NoneLeft}},
	Socket:    {"socket", inCause, []string{None, Listening, Silent}},
	Shim:      {"shim", inCause, []string{None, Alive, Dead}},
	Process:   {"process", inCause, []string{None}},
	Holder:    {"holder", inCause, []string{ByShim}},
	Create:    {"create", inCause, []string{CutOff, NotAsked}},
	Lease:     {"lease", inCause, []string{Expiring}},
	Served:    {"served-by", inCause, []string{ByNeighbour, ByTwo}},

	Whose: {"whose", inMatch, nil},

	Owner:    {"owner", inCause, []string{None, OfContainer}},
	Program:  {"program", inCause, nil},
	Parent:   {"parent", inCause, []string{ByShim, ByInit, ByOther}},
	Children: {"children", inCause, []string{None, Some}},
	State:    {"state", inCause, []string{AZombie, AStopped, Uninterruptible}},
	Helper:   {"helper", inCause, []string{helperStart, helperDelete}},

	Kind: {
		"kind",
		inCause,
		[]string{
			AWorkDir, ASnapshotDir, APlainFile, ADirectory, ASocket, AFIFO, ASymlink, ADevice,
			ABlob, AnIngest, AnImage, ANamespace, ALabel, AnActivation, Committed, ADescriptor, AConnection, AWatch, AGoroutine,
		},
	},
	Path:      {"path", inCause, nil},
	Handle:    {"handle", inCause, nil},
	MountType: {"type", inCause, nil},
	Size:      {"size", inCause, []string{Grown}},
	Procs:     {"procs", inCause, []string{None, Some}},
	Groups:    {"groups", inCause, []string{Nested}},
	Network:   {"network", inCause, nil},
	Netns:     {"netns", inCause, []string{Gone, There}},
	Expires:   {"expires", inCause, []string{Yes}},

	By: {"by", inCause, nil},
	Status: {"status", inCause, []string{
		MadeUp0, MadeUp137, MadeUp255, MadeUpSig, Wrong, WrongTime, OtherTime, WrongPID, Unreported, Killed, NeverBegan,
		KilledEarly, SaidEarly, Unended,
	}},
	Reported:   {"reported", inMatch, nil},
	True:       {"true", inMatch, nil},
	Want:       {"want", inMatch, nil},
	Source:     {"source", inDetail, nil},
	SentBy:     {"sent-by", inDetail, nil},
	Containerd: {"containerd", inCause, []string{Down}},

	Event: {"event", inCause, []string{
		Missing, Repeated, Late, NoPID, NoTime, StampedLate, WrongPID, WrongNamespace, WrongTime, NoField, OtherField,
		WrongStatus, OtherPID, Unasked, OfRefused, Untrue, NotSentAgain,
	}},
	Topic:  {"topic", inCause, topics},
	Of:     {"of", inCause, []string{AnExec, AnAttach}},
	After:  {"after", inCause, append([]string{AfterInitExit, AnotherStop, ClientGone, TimeOver}, topics...)},
	Repeat: {"repeat", inCause, []string{SameAgain, KnownToBeTold, OtherStatus, OtherPID}},
	Use:    {"use", inCause, []string{Second}},
	Last:   {"last", inMatch, []string{Yes}},

	Field: {"field", inCause,
		[]string{FieldState, FieldList, FieldReason, FieldExitCode, FieldCreated, FieldStarted, FieldFinished,
			FieldSandbox, FieldSibling, FieldIP}},
	Is:     {"is", inCause, []string{TooEarly, TooLate, NotSet, Other, Changed, Repeated, Fatal}},
	Listed: {"listed", inCause, []string{OnlyByCRI, NotByCRI}},
	In:     {"in", inCause, []string{InLivingPod, OfTheLiving, InLivingContainer}},

	What:    {"what", inCause, whats},
	Object:  {"object", inCause, []string{APod, AContainer, ASandbox, ATask}},
	Call:    {"call", inCause, nil},
	Code:    {"code", inCause, nil},
	Message: {"message", inCause, nil},
	Exit:    {"exit", inCause, nil},
	Asked:   {"asked", inCause, []string{Yes}},
	Output: {"output", inCause, []string{
		Missing, Late, Repeated, Foreign, Misdated, Unrotated, Overwritten, LoggerRuns, AnotherLog}},
	Stream: {"stream", inCause, []string{Stdout, Stderr}},

	Error:       {"error", inDetail, nil},
	TaskPID:     {"task-pid", inDetail, nil},
	ShimPID:     {"shim-pid", inDetail, nil},
	ParentPID:   {"parent-pid", inDetail, nil},
	ChildPIDs:   {"child-pids", inDetail, nil},
	Count:       {"count", inDetail, nil},
	Most:        {"most", inDetail, nil},
	Stack:       {"stack", inDetail, nil},
	Hierarchies: {"hierarchies", inDetail, nil},
	LeaseID:     {"lease-id", inDetail, nil},
	At:          {"at", inDetail, nil},
	First:       {"first", inDetail, nil},
	Apart:       {"apart", inDetail, nil},
	NotBefore:   {"not-before", inDetail, nil},
	NotAfter:    {"not-after", inDetail, nil},
	Bound:       {"bound", inDetail, nil},
	Residue:     {"residue", inDetail, nil},
}
