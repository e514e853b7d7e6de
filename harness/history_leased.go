package harness

import "time"

// Leased is what there was of leases that expire, one soon and one not, and of the
// snapshot that each alone keeps, when containerd had collected its garbage.
type Leased struct {
	Leases []Lease     `json:"leases,omitempty"`
	Looks  []LeaseLook `json:"looks,omitempty"`
}

// Lease is one that containerd has made.
type Lease struct {
	ID      string    `json:"id"`
	Expires time.Time `json:"expires"`
	// Snapshot is the key of the one that it keeps; "" where it was not made.
	Snapshot string `json:"snapshot,omitempty"`
}

// LeaseLook is what there was after a garbage collection.
type LeaseLook struct {
	// At is when the collection was asked for, and Answered when all was known.
	At        time.Time `json:"at"`
	Answered  time.Time `json:"answered"`
	Leases    []string  `json:"leases,omitempty"`
	Snapshots []string  `json:"snapshots,omitempty"`
}
