package oracle

// The keys of facts. A key that is added gets a line in keys, too.
const (
	// Of what belongs together: the task, bundle, shim, ... of the subject's id.
	FactTask      Key = iota // containerd's task: its status, none, or not-asked
	FactContainer            // containerd's record of the container
	FactBundle
	FactSocket
	FactShim    // of an exit: whether it had died by then
	FactProcess // of a task: whether its pid is a process
	FactHolder  // who listens on a socket
	FactCreate  // of a cgroup, or of an event without a pid: how the creation of its container ended
	FactLease   // what keeps a snapshot from being collected
	FactServed  // of a group: whose shim served it last, or that two did at once

	// Of whom it is.
	FactWhose // the container's name in the workload, or the sandbox

	// Of a process.
	FactOwner    // whether a container is known that it is of
	FactProgram  // the name of its program
	FactParent   // who its parent is
	FactChildren // whether it has some
	FactState    // what keeps it from ending
	FactHelper   // which of a shim's short-lived helpers it is

	// Of files, mounts and cgroups.
	FactKind      // of a file, a handle or a record of the metadata: what it is
	FactPath      // of a file, without what is of one case only
	FactHandle    // what a handle leads to, or where a goroutine is
	FactMountType // of a filesystem: overlay
	FactSize      // of a file that was there before: that it has grown
	FactProcs     // whether a cgroup holds processes
	FactGroups    // whether a cgroup holds others
	FactNetwork   // its name in CNI's configuration
	FactNetns     // whether the network namespace of a pod is still mounted
	FactExpires   // whether a lease, or what it keeps, ends by itself

	// Of an exit status that was reported.
	FactBy         // the Observer
	FactStatus     // what kind of wrong status it is
	FactReported   // the status itself
	FactTrue       // the real one
	FactWant       // the one that the workload has the container end with
	FactSource     // how that is known
	FactSentBy     // who sent the signal that the status stands for
	FactContainerd // where it was when the container ended

	// Of an event.
	FactEvent  // what is wrong with it
	FactTopic  // its topic
	FactOf     // exec, where it is not of a container's init process
	FactAfter  // what it came after
	FactRepeat // what differs from the first of its kind
	FactUse    // of which use of its id
	FactLast   // it was the last thing that the shim had to send

	// Of what CRI says.
	FactField  // which field of a status, or of an event
	FactIs     // what is wrong with it
	FactListed // who alone lists what there is
	FactIn     // where something was left: in a pod that lives on; whose was taken: of the living

	// Of containerd and of clients' calls.
	FactWhat    // what did not succeed
	FactObject  // what could not be removed: a pod, a container
	FactCall    // the client's call that failed last
	FactCode    // its gRPC code
	FactMessage // its message, without ids, numbers and times
	FactExit    // the status that containerd ended with
	FactAsked   // whether it was asked to end, by SIGTERM
	FactOutput  // what is wrong with what was read of a container's output
	FactStream  // of which of its two

	// What only people want to know: of one case alone.
	FactError
	FactTaskPID
	FactShimPID
	FactParentPID
	FactChildPIDs
	FactCount // of processes in a cgroup, of equal findings, of handles that are too many, of bytes
	FactMost  // how many there may be
	FactStack // of a goroutine
	FactHierarchies
	FactLeaseID
	FactAt
	FactFirst // the status of the first event of two
	FactApart
	FactNotBefore // an end
	FactNotAfter
	FactBound
	FactResidue // of a note: the known residue that did not appear

	factCount
)

// Values of facts.
const (
	None     = "none"
	There    = "there"
	Gone     = "gone"
	NotAsked = "not-asked"
	Some     = "some"
	Yes      = "true"

	Hidden   = "hidden"    // FactBundle: containerd died inside its removal
	Named    = "names-it"  // the bundle names the socket
	NoneLeft = "none-left" // no bundle is left at all

	Listening = "listening" // FactSocket
	Silent    = "silent"    // a socket file without a listener

	OfSandbox       = "sandbox" // FactWhose
	Alive           = "alive"   // FactShim
	Dead            = "dead"
	Down            = "down"      // FactContainerd
	ByShim          = "shim"      // FactHolder, FactParent
	ByInit          = "init"      // FactParent
	ByOther         = "process"   // another parent
	Expiring        = "expiring"  // FactLease
	ByNeighbour     = "neighbour" // FactServed: not the group's own shim
	ByTwo           = "two-shims" // FactServed: at once
	OfContainer     = "container" // FactOwner
	AZombie         = "zombie"    // FactState
	AStopped        = "stopped"
	Uninterruptible = "uninterruptible"
	AWorkDir        = "work-directory" // FactKind: the bundle's twin in containerd's root
	ASnapshotDir    = "snapshot-directory"
	APlainFile      = "file"
	ADirectory      = "directory"
	ASocket         = "socket"
	AFIFO           = "fifo"
	ASymlink        = "symlink"
	ADevice         = "device"
	ABlob           = "blob"
	AnIngest        = "ingest"
	AnImage         = "image"
	ANamespace      = "namespace"
	ALabel          = "label"      // of a namespace
	AnActivation    = "activation" // of the mount manager
	Committed       = "committed"  // of a snapshot
	ADescriptor     = "descriptor"
	AConnection     = "connection" // a descriptor, too
	AWatch          = "inotify"
	AGoroutine      = "goroutine"
	Grown           = "grown"   // FactSize
	Nested          = "nested"  // FactGroups
	CutOff          = "cut-off" // FactCreate

	Missing        = "missing" // FactEvent, FactOutput
	Repeated       = "repeated"
	Late           = "late"
	WrongStatus    = "wrong-status"
	NoPID          = "no-pid"
	NoTime         = "no-time"
	StampedLate    = "stamped-late" // with when it was sent again
	WrongPID       = "wrong-pid"    // also a FactStatus
	WrongNamespace = "wrong-namespace"
	WrongTime      = "wrong-time"  // also a FactStatus: the status is right, its time is not
	OtherTime      = "other-time"  // FactStatus: another than somebody else has reported
	NoField        = "no-field"    // it lacks what a client of CRI takes from it
	OtherField     = "other-field" // it says otherwise than CRI does when it is asked
	Unasked        = "unasked"     // of an exec that nobody has asked for
	OfRefused      = "of-refused"  // of what could not begin
	Untrue         = "untrue"      // what it tells of has not happened
	NotSentAgain   = "not-sent-again"
	AfterInitExit  = "init-exit"  // FactAfter
	LostEmpty      = "lost-empty" // FactOutput: lines in which there is nothing
	Foreign        = "foreign"
	Misdated       = "misdated"
	Unrotated      = "unrotated"
	Overwritten    = "overwritten"      // what was in a file before is lost
	LoggerRuns     = "logger-runs"      // after what it logs was deleted
	AnotherLog     = "another-log"      // its logger was told that it has that of somebody else
	AnExec         = "exec"             // FactOf
	AnAttach       = "attach"           // FactOf: a client that has attached
	Second         = "second"           // FactUse
	SameAgain      = "same"             // FactRepeat
	KnownToBeTold  = "known-to-be-told" // by its shim, whose answer containerd has had
	OtherStatus    = "other-status"
	OtherPID       = "other-pid"

	Stdout = "stdout" // FactStream
	Stderr = "stderr"

	APod       = "pod" // FactObject
	AContainer = "container"
	ATask      = "task"

	helperStart  = "start"
	helperDelete = "delete"
	taskUnknown  = "UNKNOWN"
	TaskStopped  = "STOPPED" // FactTask
)

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
	FactTask: {
		"task",
		inCause,
		[]string{None, NotAsked, taskUnknown, "CREATED", "RUNNING", TaskStopped, "PAUSED", "PAUSING"},
	},
	FactContainer: {"container", inCause, []string{None, There}},
	FactBundle:    {"bundle", inCause, []string{Gone, There, Hidden, Named, NoneLeft}},
	FactSocket:    {"socket", inCause, []string{None, Listening, Silent}},
	FactShim:      {"shim", inCause, []string{None, Alive, Dead}},
	FactProcess:   {"process", inCause, []string{None}},
	FactHolder:    {"holder", inCause, []string{ByShim}},
	FactCreate:    {"create", inCause, []string{CutOff, NotAsked}},
	FactLease:     {"lease", inCause, []string{Expiring}},
	FactServed:    {"served-by", inCause, []string{ByNeighbour, ByTwo}},

	FactWhose: {"whose", inMatch, nil},

	FactOwner:    {"owner", inCause, []string{None, OfContainer}},
	FactProgram:  {"program", inCause, nil},
	FactParent:   {"parent", inCause, []string{ByShim, ByInit, ByOther}},
	FactChildren: {"children", inCause, []string{None, Some}},
	FactState:    {"state", inCause, []string{AZombie, AStopped, Uninterruptible}},
	FactHelper:   {"helper", inCause, []string{helperStart, helperDelete}},

	FactKind: {
		"kind",
		inCause,
		[]string{
			AWorkDir, ASnapshotDir, APlainFile, ADirectory, ASocket, AFIFO, ASymlink, ADevice,
			ABlob, AnIngest, AnImage, ANamespace, ALabel, AnActivation, Committed, ADescriptor, AConnection, AWatch, AGoroutine,
		},
	},
	FactPath:      {"path", inCause, nil},
	FactHandle:    {"handle", inCause, nil},
	FactMountType: {"type", inCause, nil},
	FactSize:      {"size", inCause, []string{Grown}},
	FactProcs:     {"procs", inCause, []string{None, Some}},
	FactGroups:    {"groups", inCause, []string{Nested}},
	FactNetwork:   {"network", inCause, nil},
	FactNetns:     {"netns", inCause, []string{Gone, There}},
	FactExpires:   {"expires", inCause, []string{Yes}},

	FactBy: {"by", inCause, nil},
	FactStatus: {"status", inCause, []string{
		MadeUp0, MadeUp137, MadeUp255, MadeUpSig, Wrong, WrongTime, OtherTime, WrongPID, Unreported, Killed, NeverBegan,
		KilledEarly, SaidEarly, Unended,
	}},
	FactReported:   {"reported", inMatch, nil},
	FactTrue:       {"true", inMatch, nil},
	FactWant:       {"want", inMatch, nil},
	FactSource:     {"source", inDetail, nil},
	FactSentBy:     {"sent-by", inDetail, nil},
	FactContainerd: {"containerd", inCause, []string{Down}},

	FactEvent: {"event", inCause, []string{
		Missing, Repeated, Late, NoPID, NoTime, StampedLate, WrongPID, WrongNamespace, WrongTime, NoField, OtherField,
		WrongStatus, OtherPID, Unasked, OfRefused, Untrue, NotSentAgain,
	}},
	FactTopic: {"topic", inCause,
		append([]string{TopicCreate, TopicStart, TopicExit, TopicDelete, TopicPaused, TopicResumed, TopicExecAdded,
			TopicExecStart, TopicOOM, TopicContainerCreate, TopicContainerUpdate, TopicContainerDelete}, CRIEvents...)},
	FactOf: {"of", inCause, []string{AnExec, AnAttach}},
	FactAfter: {"after", inCause,
		append([]string{TopicStart, TopicExit, TopicDelete, TopicResumed, TopicExecStart, AfterInitExit,
			TopicContainerDelete}, CRIEvents...)},
	FactRepeat: {"repeat", inCause, []string{SameAgain, KnownToBeTold, OtherStatus, OtherPID}},
	FactUse:    {"use", inCause, []string{Second}},
	FactLast:   {"last", inMatch, []string{Yes}},

	FactField: {"field", inCause,
		[]string{FieldID, FieldState, FieldLabels, FieldReason, FieldExitCode, FieldCreated, FieldStarted, FieldFinished,
			FieldSandbox, FieldSibling, FieldIP,
			FieldImage, FieldRuntime,
			FieldImageRef, FieldAnnotations, FieldLogPath, FieldMounts, FieldStopSignal,
			FieldMemoryLimit, FieldMemory, FieldCPU, FieldMeteredAt}},
	FactIs:     {"is", inCause, []string{TooEarly, TooLate, NotSet, Other, Changed, Repeated}},
	FactListed: {"listed", inCause, []string{OnlyByCRI, NotByCRI}},
	FactIn:     {"in", inCause, []string{InLivingPod, OfTheLiving, InLivingContainer}},

	FactWhat:    {"what", inCause, whats},
	FactObject:  {"object", inCause, []string{APod, AContainer, ASandbox, ATask}},
	FactCall:    {"call", inCause, nil},
	FactCode:    {"code", inCause, nil},
	FactMessage: {"message", inCause, nil},
	FactExit:    {"exit", inCause, nil},
	FactAsked:   {"asked", inCause, []string{Yes}},
	FactOutput: {"output", inCause, []string{
		Missing, LostEmpty, Late, Repeated, Foreign, Misdated, Unrotated, Overwritten, LoggerRuns, AnotherLog}},
	FactStream: {"stream", inCause, []string{Stdout, Stderr}},

	FactError:       {"error", inDetail, nil},
	FactTaskPID:     {"task-pid", inDetail, nil},
	FactShimPID:     {"shim-pid", inDetail, nil},
	FactParentPID:   {"parent-pid", inDetail, nil},
	FactChildPIDs:   {"child-pids", inDetail, nil},
	FactCount:       {"count", inDetail, nil},
	FactMost:        {"most", inDetail, nil},
	FactStack:       {"stack", inDetail, nil},
	FactHierarchies: {"hierarchies", inDetail, nil},
	FactLeaseID:     {"lease-id", inDetail, nil},
	FactAt:          {"at", inDetail, nil},
	FactFirst:       {"first", inDetail, nil},
	FactApart:       {"apart", inDetail, nil},
	FactNotBefore:   {"not-before", inDetail, nil},
	FactNotAfter:    {"not-after", inDetail, nil},
	FactBound:       {"bound", inDetail, nil},
	FactResidue:     {"residue", inDetail, nil},
}
