package harness

import (
	"cmp"
	"time"

	"github.com/shimquake/shimquake/fixtures/payload"
	"github.com/shimquake/shimquake/oracle/callerr"
	"github.com/shimquake/shimquake/oracle/exit"
	"github.com/shimquake/shimquake/oracle/inventory"
)

// Instance is one container of the workload: what its client knew, and what its payload
// recorded.
type Instance struct {
	Name string    `json:"name"`         // of its files in the world
	ID   string    `json:"id,omitempty"` // containerd's; "" if the client knows none
	Spec Container `json:"spec"`
	PID  uint32    `json:"pid,omitempty"` // of its init; 0 if the client knows none
	// Called is its name in CRI, if that is not Name.
	Called string `json:"called,omitempty"`
	// WithPod reports that the script does not end it: it runs until its pod is stopped.
	WithPod bool `json:"withPod,omitempty"`
	// Begun is the time of the client's first request for it. The others are the times at
	// which the client received a success, or zero if it received none.
	Begun   time.Time `json:"begun,omitzero"`
	Created time.Time `json:"created,omitzero"`
	Started time.Time `json:"started,omitzero"`
	Waited  time.Time `json:"waited,omitzero"`
	Deleted time.Time `json:"deleted,omitzero"`
	// Gone is set if the kernel had no process of it any more before the client removed
	// everything. It is zero if there was a process, or if the harness did not look.
	Gone time.Time `json:"gone,omitzero"`
	// Reported reports whether the client received its exit, and Status is the last status
	// that it received.
	Reported bool   `json:"reported,omitempty"`
	Status   uint32 `json:"status,omitempty"`
	// MustTell are the observers that must report its exit in a run without a fault.
	MustTell []exit.Observer `json:"mustTell,omitempty"`
	// Payload is its own record.
	Payload payload.Truth `json:"payload"`
	// Outputs describes the output that the client read, or is nil if there is none to read.
	Outputs *Outputs `json:"outputs,omitempty"`
	// Input describes its standard input, or is nil if it has none.
	Input *Input `json:"input,omitempty"`
	// OutputsAtExit is the content of its log when CRI first reported it as exited. It is
	// nil if CRI did not report that, or if there is no log.
	OutputsAtExit *Outputs `json:"outputsAtExit,omitempty"`
	// Attaches are the clients that attached to it.
	Attaches []Attach `json:"attaches,omitempty"`
	// Execs are its execs.
	Execs []Exec `json:"execs,omitempty"`
	// OOMKills is the number of its processes that the kernel OOM-killed: the counter of its
	// cgroup before the deletion. It is nil if the counter was not read.
	OOMKills *int `json:"oomKills,omitempty"`
}

// CRIName returns the name of the container in CRI.
func (i *Instance) CRIName() string { return cmp.Or(i.Called, i.Name) }

// Exec is an exec of a container: what its client knew, and what it recorded itself. The
// reports of its exit are in History.Reported.
type Exec struct {
	// ID is containerd's id, within the container. CRI does not return the id of an exec, so
	// it is taken from the events, and "" if there are none.
	ID string `json:"id"`
	// Name is the name of its files in the world. "" means that they have its ID.
	Name string `json:"name,omitempty"`
	// Want is its exit status if no fault kills it. Held reports that the end of its
	// container kills it.
	Want uint32 `json:"want"`
	Held bool   `json:"held,omitempty"`
	// Stays reports that it runs until something else ends it.
	Stays bool `json:"stays,omitempty"`
	// Triggered reports that it exits by itself at an `end` step of the script.
	Triggered bool `json:"triggered,omitempty"`
	// LeavesChild reports that it leaves a child, which holds its output.
	LeavesChild bool `json:"leavesChild,omitempty"`
	// Absent reports that its command does not exist: its start must be refused.
	Absent bool `json:"absent,omitempty"`
	// Signal is the number of the signal that ends it, or 0 if none does. Signalled is the
	// time at which the client's kill call succeeded, or zero. If the exec still runs after
	// Timeout, the client sends SIGKILL.
	Signal    int           `json:"signal,omitempty"`
	Signalled time.Time     `json:"signalled,omitzero"`
	Timeout   time.Duration `json:"patienceNs,omitempty"`
	PID       uint32        `json:"pid,omitempty"` // as Start reported it
	// Begun is the time of the client's first request for it. The others are the times at
	// which the client received a success, or zero if it received none.
	Begun   time.Time `json:"begun,omitzero"`
	Added   time.Time `json:"added,omitzero"`
	Started time.Time `json:"started,omitzero"`
	Waited  time.Time `json:"waited,omitzero"`
	Deleted time.Time `json:"deleted,omitzero"`
	// Kept is the state that containerd reported for it after its deletion, or "" if
	// containerd did not know it any more.
	Kept string `json:"kept,omitempty"`
	// Payload is its own record.
	Payload payload.Truth `json:"payload"`
	// Outputs describes the output that the client read, or is nil if there is none to read.
	Outputs *Outputs `json:"outputs,omitempty"`
	// Input describes its standard input, or is nil if it has none.
	Input *Input `json:"input,omitempty"`
	// Sync is its call of CRI, or nil by the task API.
	Sync *ExecSync `json:"sync,omitempty"`
}

// ExecSync is a call of CRI that runs an exec until its end: an ExecSync, or an Exec and
// its stream.
type ExecSync struct {
	// Streamed reports that the call was Exec, with a client of CRI's streaming server.
	Streamed bool `json:"streamed,omitempty"`
	// Breaks reports that the client cancels its call, or breaks its connection, while the
	// exec runs. Broke is the time at which it did, or zero if it did not.
	Breaks bool      `json:"breaks,omitempty"`
	Broke  time.Time `json:"broke,omitzero"`
	// Timeout is the time after which CRI must kill the exec, or 0 for no limit.
	Timeout time.Duration `json:"timeoutNs,omitempty"`
	// Answered is the time of the response and Err its error. Without an error, Status is
	// the exit status that it reported.
	Answered time.Time       `json:"answered,omitzero"`
	Err      *callerr.Failed `json:"err,omitempty"`
	Status   uint32          `json:"status,omitempty"`
	// Beats counts the exec's heartbeats after the time at which CRI must have killed it.
	// That is the response that reports its timeout, or some time after its client broke
	// off.
	Beats int `json:"beats,omitempty"`
	// Left are files that are new in containerd's directories of its container after the
	// call.
	Left []inventory.Belonging `json:"left,omitempty"`
}

// Input is the standard input of a container's init, or of an exec: what its client
// wrote, and when it closed it. The payload's own record has the time at which it read
// the end.
type Input struct {
	// Lines is the number of numbered lines, from 1, that the client had to write. Wrote is
	// the number that it could write.
	Lines int `json:"lines"`
	Wrote int `json:"wrote,omitempty"`
	// Closing is the time of the first CloseIO request, and Closed the time of its success.
	// They are zero if that did not happen. By CRI they are the times before and after the
	// client closed the input or broke its connection. The payload must read the end within
	// Timeout after Closed.
	Closing time.Time     `json:"closing,omitzero"`
	Closed  time.Time     `json:"closed,omitzero"`
	Timeout time.Duration `json:"patienceNs,omitempty"`
	// Open reports that no client closes the input, so that it must not end before its
	// container.
	Open bool `json:"open,omitempty"`
	// Read is the payload's own copy of its input.
	Read Output `json:"read"`
}

// Record returns the name of an exec's files in the world.
func (i Instance) Record(e Exec) string { return i.Name + "-" + cmp.Or(e.Name, e.ID) }

// Timed reports whether CRI must kill the exec after a timeout.
func (e Exec) Timed() bool { return e.Sync != nil && e.Sync.Timeout > 0 }

// Orphaned reports whether the exec's client breaks off, so that the exec must end then.
func (e Exec) Orphaned() bool { return e.Sync != nil && e.Sync.Breaks }

// Called returns the name of an exec in reports: containerd's id, or its own name if the
// id is not known.
func (e Exec) Called() string { return cmp.Or(e.ID, e.Name) }
