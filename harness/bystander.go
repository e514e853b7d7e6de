package harness

import (
	"time"

	"github.com/shimquake/shimquake/fixtures/payload"
	"github.com/shimquake/shimquake/oracle/exit"
)

// Bystander is a task, or a pod of one container, that ran before the first fault and
// until the client was done, wrote all the time, and was then asked to end. No fault is
// done to it. A newcomer is made, runs and is removed while a fault holds others.
type Bystander struct {
	API      API  `json:"api"`
	Newcomer bool `json:"newcomer,omitempty"`
	// ID is containerd's, of its container, in its Namespace; PID is of its init. Empty
	// while it has none. The twin of a task has the same ID in another namespace.
	ID        string `json:"id,omitempty"`
	Namespace string `json:"namespace,omitempty"`
	PID       uint32 `json:"pid,omitempty"`
	// Sandbox is containerd's id of its pod.
	Sandbox string `json:"sandbox,omitempty"`
	// Want is the status that its payload ends with.
	Want uint32 `json:"want"`
	// Started is when it ran, Released when it was asked to end, and Removed when nothing
	// was left of it; the zero time: it did not come to that.
	Started  time.Time `json:"started,omitzero"`
	Released time.Time `json:"released,omitzero"`
	Removed  time.Time `json:"removed,omitzero"`
	// Asked is how often containerd has answered a question about it in between, and Slowest
	// how long that took at most. Calls are all others: those of its start and its end, and
	// the questions that were not answered in time, or with an error.
	Asked   int           `json:"asked"`
	Slowest time.Duration `json:"slowestNs"`
	Calls   []Call        `json:"calls,omitempty"`
	// Told are the answers to those questions, each that was other than the one before it.
	Told []BystanderTold `json:"told,omitempty"`
	// Reported is what its client heard of its exit.
	Reported []exit.Observation `json:"reported,omitempty"`
	// Payload is its own record, Output what was read of its standard output and Stderr of
	// its standard error; nil in histories that do not tell it: it wrote none.
	Payload payload.Truth `json:"payload"`
	Output  Output        `json:"output"`
	Stderr  *Output       `json:"stderr,omitempty"`
	// Rotations are those of its log, as kubelet does them: it renames the log, and asks for
	// another in its place.
	Rotations []Rotation `json:"rotations,omitempty"`
}

// BystanderPod is the name of the pod that is a bystander, and its container's.
const BystanderPod = "bystander-pod"

// Rotation is one of a log.
type Rotation struct {
	// At is when the log had been renamed, Answered when ReopenContainerLog had succeeded.
	At       time.Time `json:"at"`
	Answered time.Time `json:"answered"`
	// Full reports that in between containerd's writes to the log failed, as on a full disk.
	Full bool `json:"full,omitempty"`
	// Late counts the lines that were written after that, and are in an older log.
	Late int `json:"late,omitempty"`
}

// BystanderTold is what an answer said of a bystander while it ran.
type BystanderTold struct {
	At   time.Time `json:"at"`
	Verb string    `json:"verb"` // of the call that was answered
	// Listed says that it was there; State is in the words of its API, and PID of its init,
	// which CRI does not tell.
	Listed bool   `json:"listed"`
	State  string `json:"state,omitempty"`
	PID    uint32 `json:"pid,omitempty"`
}

// Stop is a time in which containerd was made to stand still (SIGSTOP).
type Stop struct {
	From time.Time `json:"from"`
	To   time.Time `json:"to,omitzero"` // the zero time: it never went on
}
