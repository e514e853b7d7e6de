package fact

// whats are the values of What. Each has its words.
var whats = []string{
	OthersCall, OthersEnd, OthersStatus, OthersEvent, OthersOutput, OthersAnswer, Removal, NameFree,
	GoneFails, IDReuse, Boot, Listing, Collection, Answer, ARestart, Shutdown,
	ShimEnded, Death, ALog, ExecKept, ExecTaken, AttachFailed,
	AttachOpen, ExecFailed, ExecUntimed, ExecEarly, ExecLives, WrongOutput, WrongInput,
	InputOpen, InputEnded, StateAs,
	StatePID, PausedRuns, ResumedStands,
	ASlowCall, WaitUnanswered, DoneTwice, AskedUnanswered, LateKillAs, KillHitsAnother,
	AbsentBegun, Baseline, WrongResponse, WrongState,
}

// Values of What, of a bystander.
const (
	OthersCall   = "others-call"
	OthersEnd    = "others-end"
	OthersStatus = "others-status"
	OthersEvent  = "others-event"
	OthersOutput = "others-output"
	OthersAnswer = "others-answer"
)

// Values of What where something did not succeed.
const (
	Removal   = "removal"
	IDReuse   = "id-reuse"
	NameFree  = "name-free"  // that of a container, or of a pod, that there is
	GoneFails = "gone-fails" // a call about what is gone already
	Boot      = "boot"
	Listing   = "listing"
	// Collection is that of garbage.
	Collection = "collection"
	Answer     = "answer"
	ARestart   = "restart"
	Shutdown   = "shutdown"
	Death      = "death"
	ALog       = "log"        // Is: repeated, or fatal
	ExecKept   = "exec-kept"  // an exec that was deleted
	ExecTaken  = "exec-taken" // the id of one that was deleted
	// Of an exec by CRI: it is refused, it has run longer than it was given and nobody says
	// so, it lives on after that or after its client has gone, or it was not given as long.
	ExecFailed  = "exec-failed"
	ExecUntimed = "exec-untimed"
	ExecLives   = "exec-lives"
	ExecEarly   = "exec-early"
	// Of a client that attaches: it cannot, or what it is attached to has ended and its
	// stream has not.
	AttachFailed = "attach-failed"
	AttachOpen   = "attach-open"
	// Output is that of a container or of an exec.
	WrongOutput = "output"
	// Of a standard input: what was read of it, that it did not end when it was closed, and
	// that it ended before.
	WrongInput = "input"
	InputOpen  = "input-open"
	InputEnded = "input-ended"

	// Of a task after a call that succeeded: what containerd calls it, and the pid that
	// comes with that, or none.
	StateAs  = "state-as"
	StatePID = "state-pid"
	// Of a step of a script: a response, or a state or list behind it, that no possible
	// state of the object allows.
	WrongResponse = "response"
	WrongState    = "state"
	// ShimEnded is a shim that nobody has killed, and that has not ended well.
	ShimEnded = "shim-ended"
	// A payload that goes on when its task was paused, or does not when it was resumed.
	PausedRuns    = "paused-runs"
	ResumedStands = "resumed-stands"
	ASlowCall     = "slow-call"
	// A client that waits for an end and is not answered: one of several, or, of an exec,
	// one that waits from before a start that is refused.
	WaitUnanswered = "wait-unanswered"
	// Of a command that does not exist: it has begun.
	AbsentBegun     = "absent-begun"
	DoneTwice       = "done-twice"       // what was done already succeeds once more
	AskedUnanswered = "asked-unanswered" // its state, while a call about it was held
	// Of a SIGKILL for what has ended: what was answered, and that it came to another.
	LateKillAs      = "late-kill-as"
	KillHitsAnother = "kill-hits-another"
	Baseline        = "baseline" // a call that failed before anything was broken
)
