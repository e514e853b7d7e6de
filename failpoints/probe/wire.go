package probe

// The messages are one JSON object a line. A process begins with Hello. The controller
// responds with the armed points, and sends them again whenever they change.

// Hello introduces a process.
type Hello struct {
	Who  string   `json:"who"` // containerd or shim
	PID  int      `json:"pid"` // in the process's own PID namespace
	Args []string `json:"args"`
	// Terms are the faults that the process found in its environment and in its bundle's
	// annotations.
	Terms map[string]string `json:"terms,omitempty"`
}

// Hit is one process that reaches a point.
type Hit struct {
	Seq   int64  `json:"seq"`
	Point string `json:"point"`
	// Ask reports that the process waits for a decision.
	Ask bool `json:"ask,omitempty"`
	// At is the process's clock, in nanoseconds since 1970.
	At int64 `json:"at"`
	// ID and ExecID are the container's and the exec's id in the request, if it has them.
	ID     string `json:"id,omitempty"`
	ExecID string `json:"exec,omitempty"`
	// Status is the exit status in the reply, and ReplyPID its pid, if the method returns
	// them.
	Status   *uint32 `json:"status,omitempty"`
	ReplyPID uint32  `json:"reply_pid,omitempty"`
	// Err is the error that the call ended with.
	Err string `json:"err,omitempty"`
	// Call marks a hit of the call in a statement, instead of the statement itself (see
	// Fn).
	Call bool `json:"call,omitempty"`
	// Callee is the called function, as package runtime names it: os.Mkdir,
	// github.com/containerd/containerd/v2/core/runtime/v2.(*Bundle).Delete.
	Callee string `json:"callee,omitempty"`
	// Ctx is ByCaller or ByTimeout: the way in which the context at a statement can end;
	// "" if it cannot.
	Ctx string `json:"ctx,omitempty"`
	// Ended is set in a second hit of a statement at which a request was ended, if the
	// statement's own context has ended with it.
	Ended bool `json:"ended,omitempty"`
	// Met is set if the hit is only the first in the point's function
	// (FromController.Cover). It has no other field but Point.
	Met bool `json:"met,omitempty"`
}

// Decision is the action at a hit: an action of package term with its argument.
type Decision struct {
	Seq int64  `json:"seq"`
	Do  string `json:"do"`
	Arg string `json:"arg,omitempty"`
}

// FromProcess is a line from a process: one of its fields is set.
type FromProcess struct {
	Hello *Hello `json:"hello,omitempty"`
	Hit   *Hit   `json:"hit,omitempty"`
	// Ack is the generation of armed points that the process has acknowledged.
	Ack int64 `json:"ack,omitempty"`
	// Profile is the response to a request for a profile.
	Profile *Profile `json:"profile,omitempty"`
}

// Profile has the goroutines of a process after a garbage collection.
type Profile struct {
	Seq int64 `json:"seq"` // of the request
	// Goroutines is the profile in its text form (runtime/pprof, debug=1).
	Goroutines string `json:"goroutines"`
	// Collected is false if the garbage was not collected in time; there is no profile
	// then.
	Collected bool `json:"collected"`
}

// FromController is a line from the controller: a decision, a request for a profile, or
// the armed points with their generation (from 1).
type FromController struct {
	Armed      []string  `json:"armed,omitempty"`
	Trace      bool      `json:"trace,omitempty"` // report every statement, too
	Cover      bool      `json:"cover,omitempty"` // report each function once, too
	Generation int64     `json:"generation,omitempty"`
	Decision   *Decision `json:"decision,omitempty"`
	// Profile, from 1, is the number of a request: the process collects its garbage, and
	// sends its goroutines.
	Profile int64 `json:"profile,omitempty"`
}
