package fact

// whats are the values of What. Each has its words.
var whats = []string{
	OthersStart, OthersCall, OthersEnd, OthersStatus, OthersEvent, OthersOutput, OthersAnswer, Removal, NameFree,
	GoneFails, IDReuse, Boot, WrongList, Listing, Collection, Stats, Answer, ARestart, Shutdown,
	ShimEnded, Death, ALog, AFatalLog, ExecKept, ExecTaken, ExecOrphaned, AttachFailed,
	AttachOpen, ExecFailed, ExecUntimed, ExecEarly, ExecLives, WrongOutput, WrongInput,
	InputOpen, InputEnded, InputShut, StateAs,
	StatePID, MeterAs, MeterPageAs, NoPIDYet, PausedAs, PausedRuns, ResumedAs, ResumedStands,
	ExecBurnt, ASlowCall, WaitUnanswered, DoneTwice, AskedUnanswered, LateKillAs, KillHitsAnother,
	AbsentBegun, RefusedUnanswered, Baseline,
}

// Values of What, of a bystander.
const (
	OthersStart  = "others-start"
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
	WrongList = "wrong-list" // by a filter
	// Collection is that of garbage.
	Collection = "collection"
	Stats      = "stats" // CRI's, of containers
	Answer     = "answer"
	ARestart   = "restart"
	Shutdown   = "shutdown"
	Death      = "death"
	ALog       = "log"
	AFatalLog  = "log-fatal"
	ExecKept   = "exec-kept"  // an exec that was deleted
	ExecTaken  = "exec-taken" // the id of one that was deleted
	// Of an exec by CRI: it is refused, it has run longer than it was given and nobody says
	// so, it lives on after that, or it was not given as long; and it lives on although its
	// client has gone.
	ExecFailed   = "exec-failed"
	ExecUntimed  = "exec-untimed"
	ExecLives    = "exec-lives"
	ExecEarly    = "exec-early"
	ExecOrphaned = "exec-orphaned"
	// Of a client that attaches: it cannot, or what it is attached to has ended and its
	// stream has not.
	AttachFailed = "attach-failed"
	AttachOpen   = "attach-open"
	// Output is that of a container or of an exec.
	WrongOutput = "output"
	// Of a standard input: what was read of it, that it did not end when it was closed, that
	// it ended before, and that it ended although nobody closes it.
	WrongInput = "input"
	InputOpen  = "input-open"
	InputEnded = "input-ended"
	InputShut  = "input-shut"
	// Of a task that was created, or started: what containerd calls it, the pid that comes
	// with that, and that the call was answered without one.
	StateAs  = "state-as"
	StatePID = "state-pid"
	NoPIDYet = "pid-untold"
	// ShimEnded is a shim that nobody has killed, and that has not ended well.
	ShimEnded = "shim-ended"
	// What Metrics, and the page of them, say of its memory limit.
	MeterAs     = "meter-as"
	MeterPageAs = "meter-page-as"
	// What containerd calls a task that was paused, or resumed, and a payload that goes on,
	// or does not.
	PausedAs      = "paused-as"
	PausedRuns    = "paused-runs"
	ResumedAs     = "resumed-as"
	ResumedStands = "resumed-stands"
	ExecBurnt     = "exec-burnt" // the id of an exec that was refused while it was paused
	ASlowCall     = "slow-call"
	// Of several who wait for an end, one that nobody answers.
	WaitUnanswered = "wait-unanswered"
	// Of a command that does not exist: it has begun; and one that waits for the end of an
	// exec whose start was refused, and whom nobody answers.
	AbsentBegun       = "absent-begun"
	DoneTwice         = "done-twice" // what was done already succeeds once more
	RefusedUnanswered = "refused-unanswered"
	AskedUnanswered   = "asked-unanswered" // its state, while a call about it was held
	// Of a SIGKILL for what has ended: what was answered, and that it came to another.
	LateKillAs      = "late-kill-as"
	KillHitsAnother = "kill-hits-another"
	Baseline        = "baseline" // a call that failed before anything was broken
)
