package harness

import (
	"time"

	"github.com/shimquake/shimquake/oracle"
)

// MonitorInterval is how often the restart monitor of a case with Monitored looks.
const MonitorInterval = 500 * time.Millisecond

// Monitored is a container whose labels ask containerd's restart monitor to keep its task
// running, as its client has seen it.
type Monitored struct {
	ID string `json:"id"`
	// Interval is how often the monitor looks, and Patience how long it was given.
	Interval time.Duration `json:"intervalNs"`
	Patience time.Duration `json:"patienceNs"`
	Watched  []Watched     `json:"watched,omitempty"`
}

// Watched is what the monitor has made of a container some intervals after something was
// done to it.
type Watched struct {
	Done Done      `json:"done"`
	At   time.Time `json:"at"`
	// Reached is when the monitor had first done what it is to do; the zero time: it had
	// not, within Patience, or there is nothing to do.
	Reached time.Time `json:"reached,omitzero"`
	// Before was the pid of its task when that was done, and PID is the later one; 0: it has
	// no task.
	Before uint32 `json:"before,omitempty"`
	PID    uint32 `json:"pid,omitempty"`
	// As is what containerd calls its task; "": it knows none.
	As string `json:"as,omitempty"`
	// Shims are the pids of those that serve it; nil where nobody could look.
	Shims []int `json:"shims"`
	// Err is why containerd has not answered.
	Err *oracle.Failed `json:"err,omitempty"`
}

// Done is what is done to a container that is monitored.
type Done string

// What is done, in this order.
const (
	DonePause    Done = "paused"
	DoneResume   Done = "resumed"
	DoneKill     Done = "killed"       // it is to be started anew as often as it ends
	DoneKillMore Done = "killed-again" // it was started anew as often as it may be
	DoneAllow    Done = "allowed"      // to be started anew again
	DoneStop     Done = "stopped"      // by its label alone
)
