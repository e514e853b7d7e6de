package harness

import (
	"time"

	"github.com/shimquake/shimquake/oracle/callerr"
)

// AskedWhile is a status call for a container while a process was held at a point.
type AskedWhile struct {
	Of   string          `json:"of"`   // the container's id
	Held string          `json:"held"` // the point
	At   time.Time       `json:"at"`
	Took time.Duration   `json:"tookNs"`
	As   string          `json:"as,omitempty"`  // the status, such as RUNNING
	Err  *callerr.Failed `json:"err,omitempty"` // why there is no status
}

// StandIn is another process with the pid of a process that has ended and is not deleted.
// It does nothing.
type StandIn struct {
	Of  string `json:"of"` // the object of the script
	PID int    `json:"pid"`
	// Hit reports whether a signal ended it.
	Hit bool `json:"hit,omitempty"`
}
