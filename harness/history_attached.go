package harness

import (
	"time"

	"github.com/shimquake/shimquake/oracle/callerr"
)

// Break is the moment at which a client closes its connection to CRI's streaming server
// before the stream has ended.
type Break string

// The moments.
const (
	BreaksInput  Break = "input"  // after the container has read the input that this client wrote
	BreaksOutput Break = "output" // after the client has read some of the output
)

// Attach is the stream of a client that attached to a container through CRI.
type Attach struct {
	// Breaks is the moment at which the client should close its connection, or "" if it
	// stays until the container's end.
	Breaks Break `json:"breaks,omitempty"`
	// Begun is the time of the request. Broke is the time at which the client closed its
	// connection, or zero if it stayed.
	Begun time.Time `json:"begun,omitzero"`
	Broke time.Time `json:"broke,omitzero"`
	// Ended is the time at which the stream ended, or zero if it did not end within Timeout
	// after the container's end. Err is the stream's error, or nil.
	Ended   time.Time       `json:"ended,omitzero"`
	Timeout time.Duration   `json:"patienceNs,omitempty"`
	Err     *callerr.Failed `json:"err,omitempty"`
	// Outputs describes the output that the client read. It is nil if the client closed its
	// connection.
	Outputs *Outputs `json:"outputs,omitempty"`
}
