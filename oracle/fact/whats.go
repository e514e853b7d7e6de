package fact

// whats are the values of What. The table of package finding has a row for each.
var whats = []string{
	OthersCall, OthersEnd, OthersStatus, OthersEvent, OthersOutput, OthersAnswer, Removal, NameFree,
	IDReuse, Boot, Listing, Collection, Answer, ARestart, Shutdown,
	ShimEnded, Death, ALog, ExecKept, AttachFailed,
	AttachOpen, ExecFailed, ExecUntimed, ExecEarly, ExecLives, WrongOutput, WrongInput,
	InputOpen, InputEnded, ASlowCall, WaitUnanswered, AskedUnanswered, KillHitsAnother,
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
	NameFree = "name-free" // containerd accepts the name of an existing container or pod again
	Boot     = "boot"
	Listing  = "listing"
	// Collection is a garbage collection.
	Collection = "collection"
	Answer     = "answer"
	ARestart   = "restart"
	Shutdown   = "shutdown"
	Death      = "death"
	ALog       = "log"       // Is: repeated, or fatal.
	ExecKept   = "exec-kept" // containerd still has a deleted exec
	// An exec by CRI: the call failed, or its timeout was not reported, or it timed out
	// too early. Or it keeps running after its timeout or without its client.
	ExecFailed  = "exec-failed"
	ExecUntimed = "exec-untimed"
	ExecLives   = "exec-lives"
	ExecEarly   = "exec-early"
	// A client that attaches: it could not attach, or its stream stays open after the end
	// of the container.
	AttachFailed = "attach-failed"
	AttachOpen   = "attach-open"
	// The output of a container or of an exec.
	WrongOutput = "output"
	// A standard input: the process read wrong content, or no end after the input was
	// closed, or an end before that.
	WrongInput = "input"
	InputOpen  = "input-open"
	InputEnded = "input-ended"

	// A step of a script: its response, or a state or list after it, is impossible.
	WrongResponse = "response"
	WrongState    = "state"
	// ShimEnded: a shim was not killed, and exited with another status than 0.
	ShimEnded = "shim-ended"
	ASlowCall = "slow-call"
	// A client waits for an end and gets no response. Other clients wait, too, or the
	// start of the exec was refused meanwhile.
	WaitUnanswered = "wait-unanswered"
	// A command that does not exist was started.
	AbsentBegun     = "absent-begun"
	AskedUnanswered = "asked-unanswered" // no response to State while another call is held
	// A SIGKILL for an ended process killed another process.
	KillHitsAnother = "kill-hits-another"
	Baseline        = "baseline" // a call that failed before any fault
)
