package harness

import (
	"time"

	"github.com/shimquake/shimquake/oracle/exit"
)

// Bystander is a task, or a pod with one container, that no fault targets. It starts
// before the first fault, writes output all the time, and ends after the client is done.
// A bystander that is a Newcomer has its whole lifecycle while a fault pauses another
// process.
type Bystander struct {
	API      API  `json:"api"`
	Newcomer bool `json:"newcomer,omitempty"`
	// Instance is its container. With the task API there are two bystanders with the same
	// ID, each in a Namespace of its own.
	Instance
	Namespace string `json:"namespace,omitempty"`
	// Sandbox is containerd's id of the bystander's pod.
	Sandbox string `json:"sandbox,omitempty"`
	// Want is the exit status with which its payload exits.
	Want uint32 `json:"want"`
	// Released is the time at which its client let it end. Removed is the time at which its
	// removal was complete. Each is zero if that did not happen.
	Released time.Time `json:"released,omitzero"`
	Removed  time.Time `json:"removed,omitzero"`
	// Asked counts the status calls about the running bystander to which containerd
	// responded. Slowest is the longest time of one. Calls has all other calls: the calls
	// that start and end the bystander, and the status calls that timed out or failed.
	Asked   int           `json:"asked"`
	Slowest time.Duration `json:"slowestNs"`
	Calls   []Call        `json:"calls,omitempty"`
	// Told has the responses to the status calls, without repetitions.
	Told []BystanderTold `json:"told,omitempty"`
	// Reported has the reports of its exit that its client received.
	Reported []exit.Observation `json:"reported,omitempty"`
	// Output and Stderr are the standard output and standard error, as its client read them.
	// Stderr is nil if the payload writes none.
	Output Output  `json:"output"`
	Stderr *Output `json:"stderr,omitempty"`
}

// BystanderPod is the name of the bystander's pod and of its container.
const BystanderPod = "bystander-pod"

// Rotation is one rotation of a log.
type Rotation struct {
	// At is the time just after the client renamed the log. Answered is the time at which
	// ReopenContainerLog succeeded.
	At       time.Time `json:"at"`
	Answered time.Time `json:"answered"`
	// Late counts the lines that the payload wrote after Answered, but that are in an older
	// log.
	Late int `json:"late,omitempty"`
}

// BystanderTold is a response of containerd to a status call about a running bystander.
type BystanderTold struct {
	At   time.Time `json:"at"`
	Verb string    `json:"verb"` // the name of the call
	// Listed reports that containerd knows the bystander. State is its state, as the API
	// names it. PID is the pid of its init, or 0 with CRI, which does not report it.
	Listed bool   `json:"listed"`
	State  string `json:"state,omitempty"`
	PID    uint32 `json:"pid,omitempty"`
}

// Stop is a period in which containerd was frozen (SIGSTOP).
type Stop struct {
	From time.Time `json:"from"`
	To   time.Time `json:"to,omitzero"` // zero if it was never continued
}
