package fact

import "slices"

// Key is the kind of a fact: Task, Bundle, ...
type Key uint8

// String returns the key's name in the text form.
func (k Key) String() string { return keys[k].name }

// Values returns the values that a fact of the key may have; nil: any.
func (k Key) Values() []string { return slices.Clone(keys[k].values) }

// The keys of facts. A new key needs a line in keys, too.
const (
	// The state of the subject's id.
	Task      Key = iota // the status of the task in containerd.
	Container            // the record of the container in containerd.
	Bundle               // the bundle directory.
	Socket               // the socket of the shim.
	Shim                 // the shim; of an exit: at the time of the exit.
	Process              // the process of the task's pid.
	Holder               // the process that listens on a socket.
	Create               // the end of the container's creation, of a cgroup or an event without a pid.
	Lease                // the lease that keeps a snapshot.
	Served               // the shim that last served a group, or two at once.

	// The container.
	Role // the name of the container in the workload, or the sandbox.

	// A process.
	Owner    // the container that the process belongs to.
	Program  // the name of its program.
	Parent   // its parent process.
	Children // its child processes.
	State    // the state that delays its end.
	Helper   // the kind of a shim's short-lived helper process.

	// Files, mounts and cgroups.
	Kind      // the kind of a file, a handle or a record of the metadata.
	Path      // the path of a file, without the parts of one case.
	Handle    // the target of a descriptor, or the function of a goroutine.
	MountType // the type of a filesystem, such as overlay.
	Size      // the change in size of a file that was there before.
	Procs     // the processes in a cgroup.
	Groups    // the cgroups in a cgroup.
	Network   // the name of a network in the configuration of CNI.
	Netns     // the mount of a pod's network namespace.
	Expires   // a lease, or an object that it keeps, has a time of expiry.

	// A reported exit status.
	By         // the reporter.
	Status     // the kind of error in the report.
	Reported   // the reported status.
	True       // the real status.
	Want       // the status that the workload asks for, or the response that the model expects.
	Source     // the source of the real status.
	SentBy     // the sender of the signal in the status.
	Containerd // the state of containerd at the end of the container.

	// An event.
	Event  // the kind of error.
	Topic  // the topic of the event.
	Of     // the process of the event, unless it is a container's init.
	After  // the previous event or call.
	Repeat // the difference from the first event of its kind.
	Use    // the use of the container's id.
	Last   // the shim had nothing more to send.

	// A response of CRI.
	Field  // the field of a status or of an event.
	Is     // the kind of error in the field.
	Listed // the only API that lists the object.
	In     // the place of a leak, or the owner of a loss.

	// containerd, and calls of clients.
	What    // the failed operation.
	Object  // the object that could not be removed.
	Call    // the last failed call of the client.
	Code    // the gRPC code of the error.
	Message // the message of the error, without ids, numbers and times.
	Exit    // the exit status of containerd.
	Asked   // containerd got SIGTERM.
	Output  // the kind of error in the output.
	Stream  // the output stream.

	// Details of one case, for a person.
	Error
	TaskPID
	ShimPID
	ParentPID
	ChildPIDs
	Count // of processes in a cgroup, of equal findings, of surplus handles, of bytes.
	Most  // the upper limit of Count.
	Stack // of a goroutine.
	Hierarchies
	LeaseID
	At
	First // the status of the first event of two.
	Apart
	NotBefore // the earliest possible end.
	NotAfter
	Bound
	Residue // the known residue that did not appear.

	factCount
)

// topics are the topics of containerd's events and the types of CRI's, from the packages
// oracle/event and oracle/criview.
var topics = []string{
	"/tasks/create", "/tasks/start", "/tasks/exit", "/tasks/delete", "/tasks/paused", "/tasks/resumed",
	"/tasks/exec-added", "/tasks/exec-started", "/tasks/oom",
	"CONTAINER_CREATED_EVENT", "CONTAINER_STARTED_EVENT", "CONTAINER_STOPPED_EVENT", "CONTAINER_DELETED_EVENT",
}

// scope is the range of a fact.
type scope uint8

const (
	inCause  scope = iota // the same in all findings of one cause.
	inMatch               // for matches; it may differ between cases of one cause.
	inDetail              // for one case only
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

	Role: {"role", inMatch, nil},

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
		KilledEarly, SaidEarly, NotEnded,
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
	Repeat: {"repeat", inCause, []string{SameAgain, AlreadyReported, OtherStatus, OtherPID}},
	Use:    {"use", inCause, []string{Second}},
	Last:   {"last", inMatch, []string{Yes}},

	Field: {"field", inCause,
		[]string{FieldState, FieldList, FieldReason, FieldExitCode, FieldCreated, FieldStarted, FieldFinished,
			FieldSandbox, FieldSibling, FieldIP}},
	Is:     {"is", inCause, []string{TooEarly, TooLate, NotSet, Other, Changed, Repeated, Fatal}},
	Listed: {"listed", inCause, []string{OnlyByCRI, NotByCRI}},
	In:     {"in", inCause, []string{InRunningPod, FromRunning, InRunningContainer}},

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
