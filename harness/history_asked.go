package harness

import (
	"time"

	"github.com/shimquake/shimquake/oracle/callerr"
)

// Again is a call for what was done already, or is done at the same time for another.
type Again struct {
	Verb string          `json:"verb"`           // create or start
	Of   string          `json:"of"`             // the container's id
	Exec string          `json:"exec,omitempty"` // the exec that is started; "" for a create
	At   time.Time       `json:"at"`
	Err  *callerr.Failed `json:"err,omitempty"` // nil: it was done once more
}

// AskedWhile is the state of a container, asked for while a process was held at a point.
type AskedWhile struct {
	Of   string          `json:"of"`   // the container's id
	Held string          `json:"held"` // the point
	At   time.Time       `json:"at"`
	Took time.Duration   `json:"tookNs"`
	As   string          `json:"as,omitempty"`  // the status, such as RUNNING
	Err  *callerr.Failed `json:"err,omitempty"` // why there is none
}

// LateKill is a SIGKILL for what has ended and is not deleted yet. Another process has
// its pid meanwhile, which does nothing.
type LateKill struct {
	Of   string          `json:"of"`             // the container's id
	Exec string          `json:"exec,omitempty"` // "" for its init
	PID  int             `json:"pid"`
	At   time.Time       `json:"at"`
	Err  *callerr.Failed `json:"err,omitempty"` // nil: it was answered as sent
	// Hit reports whether the other has ended of it.
	Hit bool `json:"hit,omitempty"`
}
