package fact

// whats are the values of What. Each has its words.
var whats = []string{
	OthersCall, OthersEnd, OthersStatus, OthersEvent, OthersOutput, OthersAnswer, Removal, NameFree,
	IDReuse, Boot, Listing, Collection, Answer, ARestart, Shutdown,
	ShimEnded, Death, ALog, ExecKept, ExecTaken, AttachFailed,
	AttachOpen, ExecFailed, ExecUntimed, ExecEarly, ExecLives, WrongOutput, WrongInput,
	InputOpen, InputEnded, StateAs,
	StatePID, PausedRuns, ResumedStands,
	ASlowCall, WaitUnanswered, DoneTwice, AskedUnanswered, LateKillAs, KillHitsAnother,
	AbsentBegun, Baseline, WrongResponse, WrongState,
}

// Values of What for a bystander.
const (
	OthersCall   = "others-call"
	OthersEnd    = "others-end"
	OthersStatus = "others-status"
	OthersEvent  = "others-event"
	OthersOutput = "others-output"
	OthersAnswer = "others-answer"
)

// Values of What for a failed operation.
const (
	Removal  = "removal"
	IDReuse  = "id-reuse"
	NameFree = "name-free" // the name of an existing container or pod is accepted again
	Boot     = "boot"
	Listing  = "listing"
	// Collection is a garbage collection.
	Collection = "collection"
	Answer     = "answer"
	ARestart   = "restart"
	Shutdown   = "shutdown"
	Death      = "death"
	ALog       = "log"        // Is: repeated, or fatal.
	ExecKept   = "exec-kept"  // a deleted exec is still there
	ExecTaken  = "exec-taken" // the id of a deleted exec is refused.
	// An exec by CRI: it is refused, or its timeout is not reported. Or it keeps running
	// after its timeout or without its client, or it times out too early.
	ExecFailed  = "exec-failed"
	ExecUntimed = "exec-untimed"
	ExecLives   = "exec-lives"
	ExecEarly   = "exec-early"
	// A client that attaches: it cannot, or its stream stays open after the end of the
	// container.
	AttachFailed = "attach-failed"
	AttachOpen   = "attach-open"
	// The output of a container or of an exec.
	WrongOutput = "output"
	// A standard input: wrong content, no end after it was closed, or an end before that.
	WrongInput = "input"
	InputOpen  = "input-open"
	InputEnded = "input-ended"

	// A task after a successful call: containerd's state of it, and the pid in the
	// response, or none.
	StateAs  = "state-as"
	StatePID = "state-pid"
	// A step of a script: a response, or a state or list behind it, that no possible
	// state of the object allows.
	WrongResponse = "response"
	WrongState    = "state"
	// ShimEnded is a shim that was not killed, and has not ended with success.
	ShimEnded = "shim-ended"
	// A payload that continues while its task is paused, or does not when it was resumed.
	PausedRuns    = "paused-runs"
	ResumedStands = "resumed-stands"
	ASlowCall     = "slow-call"
	// A client that waits for an end and gets no response. It is one of several, or waits
	// for an exec since before its start was refused.
	WaitUnanswered = "wait-unanswered"
	// A command that does not exist has begun.
	AbsentBegun     = "absent-begun"
	DoneTwice       = "done-twice"       // a repeated operation succeeds
	AskedUnanswered = "asked-unanswered" // no response to State while another call is held
	// A SIGKILL for an ended process: its response, and that it killed another process.
	LateKillAs      = "late-kill-as"
	KillHitsAnother = "kill-hits-another"
	Baseline        = "baseline" // a call that failed before any fault
)
