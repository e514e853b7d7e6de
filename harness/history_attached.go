package harness

import (
	"time"

	"github.com/shimquake/shimquake/oracle/callerr"
)

// Break is where a client breaks its connection to CRI's streaming server.
type Break string

// Where it does.
const (
	BreaksInput  Break = "input"  // when its part of the input was read
	BreaksOutput Break = "output" // when it has read some of the output
)

// Attach is a client that has attached to a container by CRI, and its stream.
type Attach struct {
	// Breaks is where it breaks its connection; "": it stays until the container's end.
	Breaks Break `json:"breaks,omitempty"`
	// Begun is when it asked for it. Broke is when it has broken its connection; the zero
	// time: it did not come to it.
	Begun time.Time `json:"begun,omitzero"`
	Broke time.Time `json:"broke,omitzero"`
	// Ended is when its stream had ended, which had Patience after the container's end; the
	// zero time: it had not. Err is why it has not ended well.
	Ended    time.Time       `json:"ended,omitzero"`
	Patience time.Duration   `json:"patienceNs,omitempty"`
	Err      *callerr.Failed `json:"err,omitempty"`
	// Outputs are what one that stays has read.
	Outputs *Outputs `json:"outputs,omitempty"`
}
