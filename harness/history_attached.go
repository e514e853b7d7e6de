package harness

import (
	"time"

	"github.com/shimquake/shimquake/oracle/callerr"
)

// Break is the moment at which a client breaks its connection to CRI's streaming server.
type Break string

// The moments.
const (
	BreaksInput  Break = "input"  // after the container has read the client's part of the input
	BreaksOutput Break = "output" // after the client has read some of the output
)

// Attach is the stream of a client that attached to a container by CRI.
type Attach struct {
	// Breaks is the moment at which the client breaks its connection. "" means that it stays
	// until the container's end.
	Breaks Break `json:"breaks,omitempty"`
	// Begun is the time of the request. Broke is the time at which the client broke its
	// connection, or zero if it did not.
	Begun time.Time `json:"begun,omitzero"`
	Broke time.Time `json:"broke,omitzero"`
	// Ended is the end of the stream, or zero if it did not end within Timeout after the
	// container's end. Err is why the stream ended with an error.
	Ended   time.Time       `json:"ended,omitzero"`
	Timeout time.Duration   `json:"patienceNs,omitempty"`
	Err     *callerr.Failed `json:"err,omitempty"`
	// Outputs has the output that a client that stays has read.
	Outputs *Outputs `json:"outputs,omitempty"`
}
