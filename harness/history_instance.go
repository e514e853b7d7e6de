package harness

import (
	"cmp"
	"time"

	"github.com/shimquake/shimquake/fixtures/payload"
	"github.com/shimquake/shimquake/oracle/callerr"
	"github.com/shimquake/shimquake/oracle/exit"
	"github.com/shimquake/shimquake/oracle/inventory"
)

// Instance is one container of the workload: what the client knew about it, and what its
// payload recorded.
type Instance struct {
	Name string    `json:"name"`         // of the container, and the prefix of its files
	ID   string    `json:"id,omitempty"` // containerd's id, or "" if no response named it
	Spec Container `json:"spec"`
	PID  uint32    `json:"pid,omitempty"` // of its init, or 0 if no response named it
	// Called is its name in CRI, or "" if that is Name.
	Called string `json:"called,omitempty"`
	// WithPod reports that no step of the script ends the container, so that it runs until
	// its pod is stopped.
	WithPod bool `json:"withPod,omitempty"`
	// Begun is the time of the client's first request for the container. The others are the
	// times of successful responses, or zero without one.
	Begun   time.Time `json:"begun,omitzero"`
	Created time.Time `json:"created,omitzero"`
	Started time.Time `json:"started,omitzero"`
	Waited  time.Time `json:"waited,omitzero"`
	Deleted time.Time `json:"deleted,omitzero"`
	// Gone is the time at which the harness found no process in its cgroup, just before the
	// client removed everything. It is zero if there was a process, or if the harness did
	// not check.
	Gone time.Time `json:"gone,omitzero"`
	// Reported reports whether the client received an exit status, and Status is the last
	// one.
	Reported bool   `json:"reported,omitempty"`
	Status   uint32 `json:"status,omitempty"`
	// MustTell has the sources, such as an event or Wait, that must report the exit in a run
	// without faults.
	MustTell []exit.Observer `json:"mustTell,omitempty"`
	// Payload is the record that the payload itself wrote.
	Payload payload.Truth `json:"payload"`
	// Outputs describes the output that the client read, or is nil if there is none to read.
	Outputs *Outputs `json:"outputs,omitempty"`
	// Input describes its standard input, or is nil if it has none.
	Input *Input `json:"input,omitempty"`
	// OutputsAtExit describes the container's log at the time when CRI first reported the
	// exit. It is nil if CRI did not report the exit, or if there is no log.
	OutputsAtExit *Outputs `json:"outputsAtExit,omitempty"`
	// Rotations are the rotations of its log. As kubelet does, the client renames the log
	// file and asks CRI to open a new one.
	Rotations []Rotation `json:"rotations,omitempty"`
	// Attaches has the streams of the clients that attached to the container.
	Attaches []Attach `json:"attaches,omitempty"`
	// Execs are its execs.
	Execs []Exec `json:"execs,omitempty"`
	// OOMKills is the counter of OOM kills of the container's cgroup, just before the
	// deletion. It is nil if the counter was not read.
	OOMKills *int `json:"oomKills,omitempty"`
}

// CRIName returns the name of the container in CRI.
func (i *Instance) CRIName() string { return cmp.Or(i.Called, i.Name) }

// Exec is an exec of a container: what the client knew about it, and what its process
// recorded. The reports of its exit are in History.Reported.
type Exec struct {
	// ID is containerd's id of the exec. CRI does not return it, so it then comes from
	// containerd's events. It is "" if no event has named it.
	ID string `json:"id"`
	// Name is the prefix of the exec's files, or "" if that is ID.
	Name string `json:"name,omitempty"`
	// Want is the exit status with which the exec exits if no fault kills it. Held reports
	// that it runs until the end of its container kills it.
	Want uint32 `json:"want"`
	Held bool   `json:"held,omitempty"`
	// Stays reports that the exec runs until a step or a fault kills it, or its container
	// ends.
	Stays bool `json:"stays,omitempty"`
	// Triggered reports that the exec exits by itself at an `end` step of the script.
	Triggered bool `json:"triggered,omitempty"`
	// LeavesChild reports that the exec leaves a child process, which keeps the exec's
	// output open.
	LeavesChild bool `json:"leavesChild,omitempty"`
	// Absent reports that the exec's command does not exist, so that its start must fail.
	Absent bool `json:"absent,omitempty"`
	// Signal is the number of the signal with which the client ends the exec, or 0.
	// Signalled is the time at which that kill call succeeded, or zero. If the exec still
	// runs after Timeout, the client sends SIGKILL.
	Signal    int           `json:"signal,omitempty"`
	Signalled time.Time     `json:"signalled,omitzero"`
	Timeout   time.Duration `json:"patienceNs,omitempty"`
	PID       uint32        `json:"pid,omitempty"` // as Start reported it
	// Begun is the time of the client's first request for the exec. The others are the
	// times of successful responses, or zero without one.
	Begun   time.Time `json:"begun,omitzero"`
	Added   time.Time `json:"added,omitzero"`
	Started time.Time `json:"started,omitzero"`
	Waited  time.Time `json:"waited,omitzero"`
	Deleted time.Time `json:"deleted,omitzero"`
	// Kept is the state that containerd reported for the exec after its deletion. It must be
	// "": containerd no longer knows the exec.
	Kept string `json:"kept,omitempty"`
	// Payload is the record that the exec's process itself wrote.
	Payload payload.Truth `json:"payload"`
	// Outputs describes the output that the client read, or is nil if there is none to read.
	Outputs *Outputs `json:"outputs,omitempty"`
	// Input describes its standard input, or is nil if it has none.
	Input *Input `json:"input,omitempty"`
	// Sync is the CRI call that ran the exec. It is nil with the task API.
	Sync *ExecSync `json:"sync,omitempty"`
}

// ExecSync is a CRI call that runs an exec until it exits: an ExecSync, or an Exec and
// its stream.
type ExecSync struct {
	// Streamed reports that the call was Exec, and that a client of CRI's streaming server
	// ran it.
	Streamed bool `json:"streamed,omitempty"`
	// Breaks reports that the client should cancel its call, or close its connection, while
	// the exec runs. Broke is the time at which it did, or zero if it did not.
	Breaks bool      `json:"breaks,omitempty"`
	Broke  time.Time `json:"broke,omitzero"`
	// Timeout is the time after which CRI must kill the exec, or 0 for no limit.
	Timeout time.Duration `json:"timeoutNs,omitempty"`
	// Answered is the time of the response and Err its error. Without an error, Status is
	// the exit status that it reported.
	Answered time.Time       `json:"answered,omitzero"`
	Err      *callerr.Failed `json:"err,omitempty"`
	Status   uint32          `json:"status,omitempty"`
	// Beats counts the heartbeats of an exec that CRI should have killed. CRI must have
	// killed it when it responds that the exec timed out. After the client has cancelled the
	// call, it has some more time.
	Beats int `json:"beats,omitempty"`
	// Left has the files that the call left in containerd's directories of the container.
	Left []inventory.Belonging `json:"left,omitempty"`
}

// Input is the standard input of a container's init or of an exec: what the client wrote,
// and when the client closed it. The payload's record has the time at which it read the
// end of the input.
type Input struct {
	// Lines is how many lines the client had to write, and Wrote how many it could write.
	// The lines are numbered from 1.
	Lines int `json:"lines"`
	Wrote int `json:"wrote,omitempty"`
	// Closing is the time of the first CloseIO request, and Closed the time of its success.
	// With CRI they are the times just before and after the client closed the stream's input
	// or its connection. Each is zero if that did not happen. The payload must read the end
	// of the input within Timeout after Closed.
	Closing time.Time     `json:"closing,omitzero"`
	Closed  time.Time     `json:"closed,omitzero"`
	Timeout time.Duration `json:"patienceNs,omitempty"`
	// Open reports that no client closes the input. The payload must then not read its end
	// before the container ends.
	Open bool `json:"open,omitempty"`
	// Read describes the copy of the input that the payload wrote.
	Read Output `json:"read"`
}

// Record returns the prefix of the names of an exec's files, among them the record of its
// process.
func (i Instance) Record(e Exec) string { return i.Name + "-" + cmp.Or(e.Name, e.ID) }

// Timed reports whether the exec has a timeout, after which CRI must kill it.
func (e Exec) Timed() bool { return e.Sync != nil && e.Sync.Timeout > 0 }

// Orphaned reports whether the client should go away while the exec runs. CRI must then
// end the exec.
func (e Exec) Orphaned() bool { return e.Sync != nil && e.Sync.Breaks }

// Called returns the name of an exec in reports: containerd's id, or its own name if the
// id is not known.
func (e Exec) Called() string { return cmp.Or(e.ID, e.Name) }
