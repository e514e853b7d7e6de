package harness

import (
	"time"

	"github.com/shimquake/shimquake/oracle/callerr"
)

// AskedWhile is a status call for a container while a fault paused a process at a point.
type AskedWhile struct {
	Of       string          `json:"of"`   // containerd's id of the container
	PausedAt string          `json:"held"` // the point of the pause
	At       time.Time       `json:"at"`
	Took     time.Duration   `json:"tookNs"`
	As       string          `json:"as,omitempty"`  // the status, such as RUNNING
	Err      *callerr.Failed `json:"err,omitempty"` // the error of the call
}

// PIDReuse is an idle process that got the pid of a task or exec that has exited, but is
// not deleted. A late signal of containerd or the shim would hit it.
type PIDReuse struct {
	Of  string `json:"of"` // the object of the script
	PID int    `json:"pid"`
	// Killed reports whether a signal killed it.
	Killed bool `json:"hit,omitempty"`
}
