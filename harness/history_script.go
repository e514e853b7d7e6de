package harness

import (
	"time"

	"github.com/shimquake/shimquake/oracle/callerr"
)

// Response is the kind of the response to a step of a script. The kind is the same in all
// releases, but the error code of a refusal is not.
type Response string

// The kinds of responses.
const (
	Done     Response = "done"
	Refused  Response = "refused"
	NotFound Response = "not-found"
	Exists   Response = "exists"
	Lost     Response = "lost" // no response arrived
)

// ResponseOf returns the kind of the response to a call with this error, or nil.
func ResponseOf(f *callerr.Failed) Response {
	switch {
	case f == nil:
		return Done
	case f.Code == "NotFound":
		return NotFound
	case f.Code == "AlreadyExists":
		return Exists
	case f.Code == "Unavailable" || f.Code == "DeadlineExceeded" || f.Code == "Canceled":
		return Lost
	}
	return Refused
}

// Observed is a value that containerd reported for an object. The client requests it
// after each step of a script.
type Observed struct {
	// Step is the number of the step, from 1.
	Step int       `json:"step"`
	At   time.Time `json:"at"`
	// Took is the time until the response arrived.
	Took time.Duration `json:"tookNs"`
	// Of is the script's object, such as c0 or c0/e0.
	Of string `json:"of"`
	// Field is FieldState, or FieldList for a state in a list.
	Field string `json:"field"`
	// Value is the state, as the API names it, or "" if containerd has no such object.
	Value string `json:"value,omitempty"`
	// Err is the error of the request, or nil.
	Err *callerr.Failed `json:"err,omitempty"`
}

// The fields of Observed.
const (
	FieldState = "state"
	FieldList  = "list"
)
