package fact

import "slices"

// Key is the kind of a fact: Task, Bundle, ...
type Key uint8

// String returns the key's name in the text form.
func (k Key) String() string { return keys[k].name }

// Values returns the values that a fact of the key may have, or nil if it may have any.
func (k Key) Values() []string { return slices.Clone(keys[k].values) }

// The keys of facts. A new key needs a line in keys, too.
const (
	// The state of the objects with the id of the finding's subject.
	Task      Key = iota // the status of the task in containerd; not-asked: containerd did not respond.
	Container            // whether containerd has a record of the container.
	// the bundle: hidden (its removal did not finish). For a leaked socket: names-it (a
	// bundle has its address) or none-left (no bundle exists).
	Bundle
	Socket  // the socket of the shim; silent: no process listens on it.
	Shim    // the shim; for an exit or an event: its state when the report was due.
	Process // whether the process of the task exists.
	Holder  // the process that listens on the socket.
	Create  // the shim's Create of the container: cut-off (it failed), not-asked (no shim was called).
	Lease   // the lease that keeps the snapshot.
	// the last shim of a group (key `grouped`): neighbour (another container's own shim) or
	// two-shims (two at once).
	Served

	// The container.
	Role // the name of the container in the workload, such as c0, or sandbox.

	// A process.
	Owner    // whether the process belongs to a container.
	Program  // the name of the process's program.
	Parent   // the process's parent.
	Children // whether the process has children.
	State    // the process state that delays its exit.
	Helper   // the command of a short-lived helper process of a shim.

	// Files, mounts and cgroups.
	Kind      // the kind of the file, handle or metadata record.
	Path      // the path of the file, with placeholders for ids and numbers.
	Handle    // the target of a descriptor, or the function in which a goroutine is.
	MountType // the type of the filesystem, such as overlay.
	Size      // the change in size of a file that existed before.
	Procs     // whether the cgroup has processes.
	Groups    // whether the cgroup has child cgroups.
	Network   // the name of the CNI network.
	Netns     // the mount of the pod's network namespace.
	Expires   // the lease, or the lease that keeps the object, has an expiry time.

	// A reported exit status.
	By // the API that reported the exit or state, such as wait or cri-status.
	// the error in the exit or its report; made-up-N: N was reported, but was not the real
	// status.
	Status
	Reported   // the reported value.
	True       // the real value.
	Want       // the expected exit status or response.
	Source     // the source of the real status.
	SentBy     // the sender of the signal in the status.
	Containerd // the state of containerd when the report was due.

	// An event.
	Event  // the error in the event.
	Topic  // the topic of the event.
	Of     // the process, if it is not the container's init.
	After  // the event, call or timeout before the error.
	Repeat // the difference between a repeated event and the first one.
	Use    // second: the container's id was used before.
	Last   // the event was the last one of its shim.

	// A response of CRI.
	Field  // the wrong field of a status or an event.
	Is     // the error in the field.
	Listed // by-cri-alone (containerd does not have the object) or not-by-cri (CRI does not list it).
	In     // the place of the leak; running-owner: a running container or pod lost the object.

	// containerd, and calls of clients.
	What    // the operation that failed.
	Object  // the kind of object that the operation is for.
	Call    // the client's call that failed.
	Code    // the gRPC code of the error.
	Message // the message of the error, without ids, numbers and times.
	Exit    // the exit status of containerd or its shim.
	Asked   // containerd got SIGTERM before it exited.
	Output  // the error in the output.
	Stream  // the output stream.

	// Details of one case, for a person.
	Error
	TaskPID
	ShimPID
	ParentPID
	ChildPIDs
	Count // the number of processes in a cgroup, equal findings, surplus handles or bytes.
	Most  // the upper limit of Count.
	Stack // the stack of a goroutine.
	Hierarchies
	LeaseID
	At
	First // the first of two values, such as the status in the first of two events.
	Apart
	NotBefore // the earliest possible exit.
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

// scope says in which findings a fact is the same.
type scope uint8

const (
	inCause  scope = iota // the same in all findings of one cause.
	inMatch               // may differ between cases of one cause, but matches may use it.
	inDetail              // belongs to one case, so that no match may use it.
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
		Unasked, OfRefused, Untrue, NotSentAgain,
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
