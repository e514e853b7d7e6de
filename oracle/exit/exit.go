// Package exit is the exit ledger. It answers: which reported exit status is not the real
// one? It has no I/O.
package exit

import (
	"errors"
	"time"
)

// Observer is a source of reported exit statuses.
type Observer string

// The observers.
const (
	ByWait       Observer = "wait"        // the client's Wait.
	ByDelete     Observer = "delete"      // the client's Delete.
	ByTaskStatus Observer = "task-status" // containerd's Get of a task that has ended.
	ByTaskList   Observer = "task-list"   // containerd's List of all tasks.
	ByTaskExit   Observer = "TaskExit"    // the event.
	ByTaskDelete Observer = "TaskDelete"  // the event.
	ByShimDelete Observer = "shim-delete" // the shim's Delete, or its `delete` helper.
	ByShimState  Observer = "shim-state"  // the shim's State after its Wait has returned.
	ByCRIStatus  Observer = "cri-status"  // CRI's ContainerStatus.
	ByExecSync   Observer = "exec-sync"   // CRI's ExecSync.
	ByExecStream Observer = "exec-stream" // the stream of CRI's Exec.
	ByRestarted  Observer = "restarted"   // a restarted containerd's State or Wait.
	ByNobody     Observer = "nobody"      // not an observer: no observer reported the exit.
)

// ErrNoTruth reports that the real exit status of an observed container is unknown, so
// that the reported ones cannot be compared with it.
var ErrNoTruth = errors.New("the real exit status is not known")

// Observation is a reported exit status.
type Observation struct {
	Container string    `json:"container"`
	Exec      string    `json:"exec,omitempty"` // "" for the container's init process
	Observer  Observer  `json:"observer"`
	Status    uint32    `json:"status"` // 128+signal after a signal; 255 if containerd does not know
	At        time.Time `json:"at"`     // the exit's time as reported, not the time of the report
	PID       int       `json:"pid,omitempty"`
}

// Truth is the real exit status of a process, from other sources than containerd.
type Truth struct {
	Container string `json:"container"`
	Exec      string `json:"exec,omitempty"`
	Status    uint32 `json:"status"`
	// Source is the source of the status: "its own record", "SIGKILL sent by the
	// harness", "reaped by the world's init".
	Source string `json:"source"`
}

// Of returns the name of the process: of the container, or of the exec in it.
func (t Truth) Of() string { return NameOf(t.Container, t.Exec) }

// Sent is a signal that was sent to a process. It distinguishes a real 128+signal from a
// made-up one.
type Sent struct {
	Container, Exec string
	Signal          int
	By              string
}

// process identifies a container's init (exec "") or one of its execs.
type process struct{ container, exec string }

func (p process) String() string { return NameOf(p.container, p.exec) }

// NameOf returns the name of a container, or of an exec in it.
func NameOf(container, exec string) string {
	if exec == "" {
		return container
	}
	return container + ", exec " + exec
}
