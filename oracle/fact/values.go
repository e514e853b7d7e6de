package fact

// Values of facts.
const (
	None     = "none"
	There    = "there"
	Gone     = "gone"
	NotAsked = "not-asked"
	Some     = "some"
	Yes      = "true"

	Hidden   = "hidden"    // Bundle: its removal did not finish
	Named    = "names-it"  // the bundle has the address of the socket
	NoneLeft = "none-left" // no bundle exists

	Listening = "listening" // Socket
	Silent    = "silent"    // a socket file without a listener

	OfSandbox       = "sandbox" // Role
	Alive           = "alive"   // Shim
	Dead            = "dead"
	Down            = "down"      // Containerd
	ByShim          = "shim"      // Holder, Parent
	ByInit          = "init"      // Parent
	ByOther         = "process"   // another parent
	Expiring        = "expiring"  // Lease
	ByNeighbour     = "neighbour" // Served: the shim of another container of the group
	ByTwo           = "two-shims" // Served: two shims at once
	OfContainer     = "container" // Owner
	AZombie         = "zombie"    // State
	AStopped        = "stopped"
	Uninterruptible = "uninterruptible"
	AWorkDir        = "work-directory" // Kind: the directory beside the bundle, in containerd's root
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
	AConnection     = "connection" // a descriptor of a connection
	AWatch          = "inotify"
	AGoroutine      = "goroutine"
	Grown           = "grown"   // Size
	Nested          = "nested"  // Groups
	CutOff          = "cut-off" // Create

	Missing         = "missing" // Event, Output
	Repeated        = "repeated"
	Late            = "late"
	NoPID           = "no-pid"
	NoTime          = "no-time"
	StampedLate     = "stamped-late" // it has the time of a later attempt to send it
	WrongPID        = "wrong-pid"    // also a Status
	WrongNamespace  = "wrong-namespace"
	WrongTime       = "wrong-time"  // also a Status: only the time is wrong.
	OtherTime       = "other-time"  // Status: the reporters disagree about the time.
	NoField         = "no-field"    // a field that clients of CRI use is missing
	OtherField      = "other-field" // a field differs from CRI's response.
	Unasked         = "unasked"     // of an exec that no client has asked for
	OfRefused       = "of-refused"  // of a process that could not start.
	Untrue          = "untrue"      // the reported OOM kill has not happened
	NotSentAgain    = "not-sent-again"
	AfterInitExit   = "init-exit" // After
	AnotherStop     = "another-stop"
	ClientGone      = "client-gone"
	TimeOver        = "time-over" // the timeout of ExecSync
	Foreign         = "foreign"
	Misdated        = "misdated"
	Unrotated       = "unrotated"
	Overwritten     = "overwritten"      // the earlier content of the log file is lost.
	LoggerRuns      = "logger-runs"      // the logger runs after the deletion of its container.
	AnotherLog      = "another-log"      // the logger got the id of another container
	AnExec          = "exec"             // Of
	AnAttach        = "attach"           // Of: a client that has attached
	Second          = "second"           // Use
	SameAgain       = "same"             // Repeat
	AlreadyReported = "already-reported" // containerd had known it from the shim before
	OtherStatus     = "other-status"
	OtherPID        = "other-pid"

	Stdout = "stdout" // Stream
	Stderr = "stderr"

	AnotherClient = "another-client" // By: one of two clients of CRI's container events

	APod       = "pod" // Object
	AContainer = "container"
	ATask      = "task"

	helperStart  = "start"
	helperDelete = "delete"
	TaskUnknown  = "UNKNOWN"
	TaskStopped  = "STOPPED" // Task
)
