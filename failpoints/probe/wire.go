package probe

// The messages are one JSON object a line. A process begins with Hello; the controller
// answers with the points that are armed, and sends them again whenever they change.

// Hello introduces a process.
type Hello struct {
	Who  string   `json:"who"` // containerd or shim
	PID  int      `json:"pid"` // in the process's own PID namespace
	Args []string `json:"args"`
	// Terms are the faults that the process found in its environment and in its bundle's
	// annotations.
	Terms map[string]string `json:"terms,omitempty"`
}

// Hit is one passing of a point.
type Hit struct {
	Seq   int64  `json:"seq"`
	Point string `json:"point"`
	// Ask is whether the process waits for an answer.
	Ask bool `json:"ask,omitempty"`
	// At is the process's clock, in nanoseconds since 1970.
	At int64 `json:"at"`
	// ID and ExecID are the container's and the exec's id in the request, if it has them.
	ID     string `json:"id,omitempty"`
	ExecID string `json:"exec,omitempty"`
	// Status is the exit status in the reply, and ReplyPID its pid, of methods that return
	// them.
	Status   *uint32 `json:"status,omitempty"`
	ReplyPID uint32  `json:"reply_pid,omitempty"`
	// Err is the error that the call ended with.
	Err string `json:"err,omitempty"`
	// Call is whether the hit is not a statement's but that of the call in it (see Fn).
	Call bool `json:"call,omitempty"`
	// Callee is the function that a call is of, as package runtime names it: os.Mkdir,
	// github.com/containerd/containerd/v2/core/runtime/v2.(*Bundle).Delete.
	Callee string `json:"callee,omitempty"`
	// Ctx is who can end the context at a statement: ByCaller or ByTimeout; "" where nobody
	// can.
	Ctx string `json:"ctx,omitempty"`
	// Ended is sent once more for a statement where a request was ended: that the context at
	// hand has ended with it.
	Ended bool `json:"ended,omitempty"`
}

// Answer is what to do at a hit: an action of package term with its argument.
type Answer struct {
	Seq int64  `json:"seq"`
	Do  string `json:"do"`
	Arg string `json:"arg,omitempty"`
}

// FromProcess is a line from a process: one of its fields is set.
type FromProcess struct {
	Hello *Hello `json:"hello,omitempty"`
	Hit   *Hit   `json:"hit,omitempty"`
	// Ack is the generation of armed points that the process has taken over.
	Ack int64 `json:"ack,omitempty"`
	// Profile is the answer to a question for it.
	Profile *Profile `json:"profile,omitempty"`
}

// Profile is what a process holds once it has collected its garbage.
type Profile struct {
	Seq int64 `json:"seq"` // of the question
	// Goroutines is the profile in its text form (runtime/pprof, debug=1).
	Goroutines string `json:"goroutines"`
	// Collected is false where the garbage was not collected in time; there is no profile.
	Collected bool `json:"collected"`
}

// FromController is a line from the controller: Answer, Profile, or Armed with its
// generation (from 1).
type FromController struct {
	Armed      []string `json:"armed,omitempty"`
	Trace      bool     `json:"trace,omitempty"` // every statement is to be reported, too
	Generation int64    `json:"generation,omitempty"`
	Answer     *Answer  `json:"answer,omitempty"`
	// Profile, from 1, is the number of a question: the process collects its garbage, and
	// tells of its goroutines.
	Profile int64 `json:"profile,omitempty"`
}
