package harness

import (
	"cmp"
	"time"

	"github.com/shimquake/shimquake/fixtures/payload"
	"github.com/shimquake/shimquake/oracle/callerr"
	"github.com/shimquake/shimquake/oracle/exit"
	"github.com/shimquake/shimquake/oracle/inventory"
)

// Instance is one container of the workload, as its client knew it and as its payload
// noted it.
type Instance struct {
	Name string    `json:"name"`         // of its files in the world
	ID   string    `json:"id,omitempty"` // containerd's; "" while the client knows none
	Spec Container `json:"spec"`
	PID  uint32    `json:"pid,omitempty"` // of its init; 0 while the client knows none
	// Called is its name in CRI, where that is not Name.
	Called string `json:"called,omitempty"`
	// WithPod reports that nothing in the script ends it: it runs until its pod is stopped.
	WithPod bool `json:"withPod,omitempty"`
	// Begun is when the client first asked for it. The others are when it heard of
	// success; the zero time: it was not.
	Begun   time.Time `json:"begun,omitzero"`
	Created time.Time `json:"created,omitzero"`
	Started time.Time `json:"started,omitzero"`
	Waited  time.Time `json:"waited,omitzero"`
	Deleted time.Time `json:"deleted,omitzero"`
	// Gone is when its client was about to remove what there was, and the kernel had no
	// process of it any more; the zero time: it had one, or nobody has looked.
	Gone time.Time `json:"gone,omitzero"`
	// Reported reports whether the client heard of its exit, and Status what it heard
	// last.
	Reported bool   `json:"reported,omitempty"`
	Status   uint32 `json:"status,omitempty"`
	// MustTell are the observers that tell its exit when nothing is broken.
	MustTell []exit.Observer `json:"mustTell,omitempty"`
	// Payload is its own record.
	Payload payload.Truth `json:"payload"`
	// Outputs are what was read of its output; nil where it was not asked to write.
	Outputs *Outputs `json:"outputs,omitempty"`
	// Input is what was written to its standard input; nil where it has none.
	Input *Input `json:"input,omitempty"`
	// OutputsAtExit are what its log had when CRI first said that it has exited; nil where
	// it did not say so, or keeps none.
	OutputsAtExit *Outputs `json:"outputsAtExit,omitempty"`
	// Attaches are the clients that have attached to it.
	Attaches []Attach `json:"attaches,omitempty"`
	// Execs are the processes that were run in it besides.
	Execs []Exec `json:"execs,omitempty"`
	// OOMKills is how many processes of it the kernel had OOM-killed, by the count of its
	// cgroup before it was deleted; nil where nobody has read that.
	OOMKills *int `json:"oomKills,omitempty"`
}

// CRIName is the name of a container in CRI.
func (i *Instance) CRIName() string { return cmp.Or(i.Called, i.Name) }

// Exec is a process that is run in a container besides its init, as its client knew it
// and as it noted itself. What its client heard of its exit is in History.Reported.
type Exec struct {
	// ID is containerd's, within the container. That of an exec by CRI no client is told: it
	// is that of its events, and "" where none has come.
	ID string `json:"id"`
	// Name is of its files in the world; "": its id is.
	Name string `json:"name,omitempty"`
	// Want is the status that it exits with unless a fault kills it; Held is one that the
	// end of its container kills.
	Want uint32 `json:"want"`
	Held bool   `json:"held,omitempty"`
	// Stays is one that a script runs until something ends it.
	Stays bool `json:"stays,omitempty"`
	// Triggered is one that exits by itself when an `end` step of the script lets it.
	Triggered bool `json:"triggered,omitempty"`
	// Background is one that leaves a child behind, which holds its output.
	Background bool `json:"background,omitempty"`
	// Absent is one whose command does not exist: its start is to be refused.
	Absent bool `json:"absent,omitempty"`
	// Signal is the number of the signal that is to end it; 0: it ends otherwise. Signalled
	// is when the client heard that it was sent; the zero time: it was not. Who has not
	// ended Patience later is sent SIGKILL.
	Signal    int           `json:"signal,omitempty"`
	Signalled time.Time     `json:"signalled,omitzero"`
	Patience  time.Duration `json:"patienceNs,omitempty"`
	PID       uint32        `json:"pid,omitempty"` // as Start has reported it
	// Begun is when the client first asked for it. The others are when it heard of
	// success; the zero time: it was not.
	Begun   time.Time `json:"begun,omitzero"`
	Added   time.Time `json:"added,omitzero"`
	Started time.Time `json:"started,omitzero"`
	Waited  time.Time `json:"waited,omitzero"`
	Deleted time.Time `json:"deleted,omitzero"`
	// Kept is what containerd called it when it was deleted, and asked for once more; "": it
	// knew of none.
	Kept string `json:"kept,omitempty"`
	// Payload is its own record.
	Payload payload.Truth `json:"payload"`
	// Outputs are what was read of its output; nil where it was not asked to write.
	Outputs *Outputs `json:"outputs,omitempty"`
	// Input is what was written to its standard input; nil where it has none.
	Input *Input `json:"input,omitempty"`
	// Sync is what came of its call of CRI's; nil of one by the task API.
	Sync *ExecSync `json:"sync,omitempty"`
}

// ExecSync is a call of CRI's that runs an exec until its end: an ExecSync, or an Exec
// and its stream.
type ExecSync struct {
	// Streamed is by Exec, with a client of CRI's streaming server.
	Streamed bool `json:"streamed,omitempty"`
	// Breaks has its client go away while the exec runs: it cancels its call, or breaks its
	// connection. Broke is when it did; the zero time: it did not come to it.
	Breaks bool      `json:"breaks,omitempty"`
	Broke  time.Time `json:"broke,omitzero"`
	// Timeout is what the exec was given until it is killed; 0: all the time.
	Timeout time.Duration `json:"timeoutNs,omitempty"`
	// Answered is when there was an answer, Err its error, and Status what it said of the
	// exit without one.
	Answered time.Time       `json:"answered,omitzero"`
	Err      *callerr.Failed `json:"err,omitempty"`
	Status   uint32          `json:"status,omitempty"`
	// Beats are those of the exec's heart after it was answered that its time is over, or
	// after its client has gone and there was time to kill it.
	Beats int `json:"beats,omitempty"`
	// Left is what lay in containerd's directories for its container afterwards, and had not
	// before.
	Left []inventory.Belonging `json:"left,omitempty"`
}

// Input is the standard input of a container's init, or of an exec, as its client has
// written and closed it. When the payload has seen its end is in its own record.
type Input struct {
	// Lines is how many numbered lines, from 1, the client had to write, and Wrote how many
	// of them were taken.
	Lines int `json:"lines"`
	Wrote int `json:"wrote,omitempty"`
	// Closing is when CloseIO was first asked for, and Closed when the client heard of its
	// success, from when on Patience was had with the payload; the zero time: never. By CRI
	// they are before and after its client has closed it, or has broken its connection.
	Closing  time.Time     `json:"closing,omitzero"`
	Closed   time.Time     `json:"closed,omitzero"`
	Patience time.Duration `json:"patienceNs,omitempty"`
	// Open is one that no client closes, and that is not to end before its container.
	Open bool `json:"open,omitempty"`
	// Read is what the payload has kept of what it has read.
	Read Output `json:"read"`
}

// Record is the name of an exec's files in the world.
func (i Instance) Record(e Exec) string { return i.Name + "-" + cmp.Or(e.Name, e.ID) }

// Timed reports whether an exec is to be killed when its time is over.
func (e Exec) Timed() bool { return e.Sync != nil && e.Sync.Timeout > 0 }

// Orphaned reports whether the client of an exec is to go away, and the exec to end then.
func (e Exec) Orphaned() bool { return e.Sync != nil && e.Sync.Breaks }

// Called is what an exec is called in reports of it: containerd's id, or its name where
// that is not known.
func (e Exec) Called() string { return cmp.Or(e.ID, e.Name) }
