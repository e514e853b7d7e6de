package fact

// Values of facts.
const (
	None     = "none"
	There    = "there"
	Gone     = "gone"
	NotAsked = "not-asked"
	Some     = "some"
	Yes      = "true"

	Hidden   = "hidden"    // Bundle: containerd died inside its removal
	Named    = "names-it"  // the bundle names the socket
	NoneLeft = "none-left" // no bundle is left at all

	Listening = "listening" // Socket
	Silent    = "silent"    // a socket file without a listener

	OfSandbox       = "sandbox" // Whose
	Alive           = "alive"   // Shim
	Dead            = "dead"
	Down            = "down"      // Containerd
	ByShim          = "shim"      // Holder, Parent
	ByInit          = "init"      // Parent
	ByOther         = "process"   // another parent
	Expiring        = "expiring"  // Lease
	ByNeighbour     = "neighbour" // Served: not the group's own shim
	ByTwo           = "two-shims" // Served: at once
	OfContainer     = "container" // Owner
	AZombie         = "zombie"    // State
	AStopped        = "stopped"
	Uninterruptible = "uninterruptible"
	AWorkDir        = "work-directory" // Kind: the bundle's twin in containerd's root
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
	Grown           = "grown"   // Size
	Nested          = "nested"  // Groups
	CutOff          = "cut-off" // Create

	Missing        = "missing" // Event, Output
	Repeated       = "repeated"
	Late           = "late"
	WrongStatus    = "wrong-status"
	NoPID          = "no-pid"
	NoTime         = "no-time"
	StampedLate    = "stamped-late" // with when it was sent again
	WrongPID       = "wrong-pid"    // also a Status
	WrongNamespace = "wrong-namespace"
	WrongTime      = "wrong-time"  // also a Status: the status is right, its time is not
	OtherTime      = "other-time"  // Status: another than somebody else has reported
	NoField        = "no-field"    // it lacks what a client of CRI takes from it
	OtherField     = "other-field" // it says otherwise than CRI does when it is asked
	Unasked        = "unasked"     // of an exec that nobody has asked for
	OfRefused      = "of-refused"  // of what could not begin
	Untrue         = "untrue"      // what it tells of has not happened
	NotSentAgain   = "not-sent-again"
	AfterInitExit  = "init-exit" // After
	AnotherStop    = "another-stop"
	ClientGone     = "client-gone"
	TimeOver       = "time-over" // the time that ExecSync was given
	Foreign        = "foreign"
	Misdated       = "misdated"
	Unrotated      = "unrotated"
	Overwritten    = "overwritten"      // what was in a file before is lost
	LoggerRuns     = "logger-runs"      // after what it logs was deleted
	AnotherLog     = "another-log"      // its logger was told that it has that of somebody else
	AnExec         = "exec"             // Of
	AnAttach       = "attach"           // Of: a client that has attached
	Second         = "second"           // Use
	SameAgain      = "same"             // Repeat
	KnownToBeTold  = "known-to-be-told" // by its shim, whose answer containerd has had
	OtherStatus    = "other-status"
	OtherPID       = "other-pid"

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
