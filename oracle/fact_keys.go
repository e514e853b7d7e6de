package oracle

// The keys of facts. A key that is added gets a line in keys, too.
const (
	// Of what belongs together: the task, bundle, shim, ... of the subject's id.
	FactTask      Key = iota // containerd's task: its status, none, or not-asked
	FactContainer            // containerd's record of the container
	FactBundle
	FactSocket
	FactShim
	FactProcess // of a task: whether its pid is a process
	FactHolder  // who listens on a socket
	FactLease   // what keeps a snapshot from being collected

	// Of a process.
	FactOwner    // whether a container is known that it is of
	FactProgram  // the name of its program
	FactParent   // who its parent is
	FactChildren // whether it has some
	FactState    // what keeps it from ending
	FactHelper   // which of a shim's short-lived helpers it is

	// Of files, mounts and cgroups.
	FactKind      // of a directory: the bundle's twin in containerd's root
	FactMountType // of a filesystem: overlay
	FactProcs     // whether a cgroup holds processes
	FactGroups    // whether a cgroup holds others
	FactExpires   // whether a lease, or what it keeps, ends by itself

	// Of an exit status that was reported.
	FactBy     // the Observer
	FactStatus // what kind of wrong status it is
	FactTold   // the status itself
	FactTrue   // the real one
	FactSource // how that is known
	FactSentBy // who sent the signal that the status stands for

	// Of an event.
	FactEvent  // what is wrong with it
	FactTopic  // its topic
	FactOf     // exec, where it is not of a container's init process
	FactAfter  // what it came after
	FactRepeat // what differs from the first of its kind
	FactLast   // it was the last thing that the shim had to send

	// Of containerd and of clients' calls.
	FactWhat    // what did not succeed
	FactObject  // what could not be removed: a pod, a container
	FactCall    // the client's call that failed last
	FactCode    // its gRPC code
	FactMessage // its message, without ids, numbers and times
	FactExit    // the status that containerd ended with
	FactOutput  // what is wrong with what was read of a container's output

	// What only people want to know: of one case alone.
	FactError
	FactTaskPID
	FactShimPID
	FactParentPID
	FactChildPIDs
	FactCount // of processes in a cgroup
	FactHierarchies
	FactLeaseID
	FactAt
	FactFirst // the status of the first event of two
	FactApart
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

	Alive           = "alive"     // FactShim
	ByShim          = "shim"      // FactHolder, FactParent
	ByInit          = "init"      // FactParent
	ByOther         = "process"   // another parent
	Expiring        = "expiring"  // FactLease
	OfContainer     = "container" // FactOwner
	AZombie         = "zombie"    // FactState
	AStopped        = "stopped"
	Uninterruptible = "uninterruptible"
	AWorkDir        = "work-directory" // FactKind
	Nested          = "nested"         // FactGroups

	Missing       = "missing" // FactEvent, FactOutput
	Repeated      = "repeated"
	Late          = "late"
	WrongStatus   = "wrong-status"
	NoPID         = "no-pid"
	NoTime        = "no-time"
	AfterInitExit = "init-exit" // FactAfter
	Foreign       = "foreign"   // FactOutput
	AnExec        = "exec"      // FactOf
	SameAgain     = "same"      // FactRepeat
	OtherStatus   = "other-status"
	OtherPID      = "other-pid"

	Removal    = "removal" // FactWhat
	IDReuse    = "id-reuse"
	Boot       = "boot"
	Listing    = "listing"
	Answer     = "answer"
	ARestart   = "restart"
	Death      = "death"
	APod       = "pod" // FactObject
	AContainer = "container"
	ATask      = "task"

	OthersStart  = "others-start" // FactWhat, of a bystander
	OthersCall   = "others-call"
	OthersEnd    = "others-end"
	OthersStatus = "others-status"
	OthersEvent  = "others-event"
	OthersOutput = "others-output"

	helperStart  = "start"
	helperDelete = "delete"
	taskUnknown  = "UNKNOWN"
	TaskStopped  = "STOPPED" // FactTask
)

// othersWhat are the values of FactWhat that a bystander has.
var othersWhat = []string{OthersStart, OthersCall, OthersEnd, OthersStatus, OthersEvent, OthersOutput}

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
	FactShim:      {"shim", inCause, []string{None, Alive}},
	FactProcess:   {"process", inCause, []string{None}},
	FactHolder:    {"holder", inCause, []string{ByShim}},
	FactLease:     {"lease", inCause, []string{Expiring}},

	FactOwner:    {"owner", inCause, []string{None, OfContainer}},
	FactProgram:  {"program", inCause, nil},
	FactParent:   {"parent", inCause, []string{ByShim, ByInit, ByOther}},
	FactChildren: {"children", inCause, []string{None, Some}},
	FactState:    {"state", inCause, []string{AZombie, AStopped, Uninterruptible}},
	FactHelper:   {"helper", inCause, []string{helperStart, helperDelete}},

	FactKind:      {"kind", inCause, []string{AWorkDir}},
	FactMountType: {"type", inCause, nil},
	FactProcs:     {"procs", inCause, []string{None, Some}},
	FactGroups:    {"groups", inCause, []string{Nested}},
	FactExpires:   {"expires", inCause, []string{Yes}},

	FactBy:     {"by", inCause, nil},
	FactStatus: {"status", inCause, []string{MadeUp0, MadeUp137, MadeUp255, MadeUpSig, Wrong}},
	FactTold:   {"told", inMatch, nil},
	FactTrue:   {"true", inMatch, nil},
	FactSource: {"source", inDetail, nil},
	FactSentBy: {"sent-by", inDetail, nil},

	FactEvent:  {"event", inCause, []string{Missing, Repeated, Late, NoPID, NoTime, WrongStatus, OtherPID}},
	FactTopic:  {"topic", inCause, []string{topicCreate, topicStart, topicExit, topicDelete, topicExecStart}},
	FactOf:     {"of", inCause, []string{AnExec}},
	FactAfter:  {"after", inCause, []string{topicStart, topicExit, topicDelete, AfterInitExit}},
	FactRepeat: {"repeat", inCause, []string{SameAgain, OtherStatus, OtherPID}},
	FactLast:   {"last", inMatch, []string{Yes}},

	FactWhat:    {"what", inCause, append(othersWhat, Removal, IDReuse, Boot, Listing, Answer, ARestart, Death)},
	FactObject:  {"object", inCause, []string{APod, AContainer, ATask}},
	FactCall:    {"call", inCause, nil},
	FactCode:    {"code", inCause, nil},
	FactMessage: {"message", inCause, nil},
	FactExit:    {"exit", inCause, nil},
	FactOutput:  {"output", inCause, []string{Missing, Repeated, Foreign}},

	FactError:       {"error", inDetail, nil},
	FactTaskPID:     {"task-pid", inDetail, nil},
	FactShimPID:     {"shim-pid", inDetail, nil},
	FactParentPID:   {"parent-pid", inDetail, nil},
	FactChildPIDs:   {"child-pids", inDetail, nil},
	FactCount:       {"count", inDetail, nil},
	FactHierarchies: {"hierarchies", inDetail, nil},
	FactLeaseID:     {"lease-id", inDetail, nil},
	FactAt:          {"at", inDetail, nil},
	FactFirst:       {"first", inDetail, nil},
	FactApart:       {"apart", inDetail, nil},
	FactBound:       {"bound", inDetail, nil},
	FactResidue:     {"residue", inDetail, nil},
}
