// Package exit is the exit ledger. It answers: which reported exit status is not the real
// one? It has no I/O.
package exit

import (
	"errors"
	"time"
)

// Observer is somebody who tells an exit code.
type Observer string

// The observers.
const (
	ByWait       Observer = "wait"        // the client's Wait
	ByDelete     Observer = "delete"      // the client's Delete
	ByTaskStatus Observer = "task-status" // containerd's Get of a task that has ended
	ByTaskList   Observer = "task-list"   // its List of all tasks
	ByTaskExit   Observer = "TaskExit"    // the event
	ByTaskDelete Observer = "TaskDelete"  // the event
	ByShimDelete Observer = "shim-delete" // the shim's answer to Delete, or that of its `delete` helper
	ByShimState  Observer = "shim-state"  // the shim's answer to State, once it has reported the exit by Wait
	ByCRIStatus  Observer = "cri-status"  // CRI's ContainerStatus
	ByExecSync   Observer = "exec-sync"   // CRI's ExecSync, of an exec
	ByExecStream Observer = "exec-stream" // the stream of CRI's Exec, of an exec
	ByRestarted  Observer = "restarted"   // a restarted containerd's State or Wait
	ByNobody     Observer = "nobody"      // of an exit that no client could learn
)

// ErrNoTruth says that the real exit status of an observed container is not known, so its
// codes cannot be judged.
var ErrNoTruth = errors.New("the real exit status is not known")

// Observation is an exit status that somebody reported.
type Observation struct {
	Container string    `json:"container"`
	Exec      string    `json:"exec,omitempty"` // "" for the container's init process
	Observer  Observer  `json:"observer"`
	Status    uint32    `json:"status"` // 128+signal when a signal ended it; 255 when containerd could not tell
	At        time.Time `json:"at"`     // the exit's time as reported, not the time of the report
	PID       int       `json:"pid,omitempty"`
}

// Truth is the real exit status, known without containerd.
type Truth struct {
	Container string `json:"container"`
	Exec      string `json:"exec,omitempty"`
	Status    uint32 `json:"status"`
	// Source says who knows: "its own record", "SIGKILL sent by the harness", "reaped by the
	// world's init".
	Source string `json:"source"`
}

// Of names whose it is: a container, or an exec in it.
func (t Truth) Of() string { return NameOf(t.Container, t.Exec) }

// Sent is a signal that somebody sent to a process, so that a made-up 128+signal is told
// apart from a real one.
type Sent struct {
	Container, Exec string
	Signal          int
	By              string
}

// process names a container's init (exec "") or one of its execs.
type process struct{ container, exec string }

func (p process) String() string { return NameOf(p.container, p.exec) }

// NameOf names a container, or an exec in it.
func NameOf(container, exec string) string {
	if exec == "" {
		return container
	}
	return container + ", exec " + exec
}
