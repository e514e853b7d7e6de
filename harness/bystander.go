package harness

import (
	"time"

	"github.com/shimquake/shimquake/fixtures/payload"
	"github.com/shimquake/shimquake/oracle/exit"
)

// Bystander is a task, or a pod with one container, that no fault targets. It starts
// before the first fault, writes all the time, and ends after the client is done. A
// newcomer is created, runs and is removed while a fault holds another process.
type Bystander struct {
	API      API  `json:"api"`
	Newcomer bool `json:"newcomer,omitempty"`
	// ID is containerd's id of its container, in its Namespace, and PID is its init's. They
	// are empty before creation. The twin of a task has the same ID in another namespace.
	ID        string `json:"id,omitempty"`
	Namespace string `json:"namespace,omitempty"`
	PID       uint32 `json:"pid,omitempty"`
	// Sandbox is containerd's id of its pod.
	Sandbox string `json:"sandbox,omitempty"`
	// Want is the exit status of its payload.
	Want uint32 `json:"want"`
	// Started, Released and Removed are the times at which it ran, at which its client let
	// it end, and at which it was removed completely. They are zero if that did not happen.
	Started  time.Time `json:"started,omitzero"`
	Released time.Time `json:"released,omitzero"`
	Removed  time.Time `json:"removed,omitzero"`
	// Asked counts containerd's responses to status calls about it while it ran, and Slowest
	// is the longest time of one. Calls has all other calls: of its start and its end, and
	// the status calls that timed out or failed.
	Asked   int           `json:"asked"`
	Slowest time.Duration `json:"slowestNs"`
	Calls   []Call        `json:"calls,omitempty"`
	// Told are the responses to the status calls, without repetitions.
	Told []BystanderTold `json:"told,omitempty"`
	// Reported are the reports of its exit that its client received.
	Reported []exit.Observation `json:"reported,omitempty"`
	// Payload is its own record. Output and Stderr hold what its client read of its standard
	// output and standard error. Stderr is nil if the bystander writes none.
	Payload payload.Truth `json:"payload"`
	Output  Output        `json:"output"`
	Stderr  *Output       `json:"stderr,omitempty"`
	// Rotations are the rotations of its log. As kubelet does, the client renames the log
	// and asks CRI for a new one.
	Rotations []Rotation `json:"rotations,omitempty"`
}

// BystanderPod is the name of the bystander's pod and of its container.
const BystanderPod = "bystander-pod"

// Rotation is one rotation of a log.
type Rotation struct {
	// At is the time at which the log had been renamed. Answered is the time at which
	// ReopenContainerLog succeeded.
	At       time.Time `json:"at"`
	Answered time.Time `json:"answered"`
	// Full reports that in between containerd's writes to the log failed, as on a full disk.
	Full bool `json:"full,omitempty"`
	// Late counts the lines that were written after Answered, but are in an older log.
	Late int `json:"late,omitempty"`
}

// BystanderTold is a response about a running bystander.
type BystanderTold struct {
	At   time.Time `json:"at"`
	Verb string    `json:"verb"` // of the call
	// Listed reports that the bystander exists. State is its state, as the API names it. PID
	// is its init's; CRI does not report it.
	Listed bool   `json:"listed"`
	State  string `json:"state,omitempty"`
	PID    uint32 `json:"pid,omitempty"`
}

// Stop is a period in which containerd was frozen (SIGSTOP).
type Stop struct {
	From time.Time `json:"from"`
	To   time.Time `json:"to,omitzero"` // zero if it was never continued
}
