package oracle

import (
	"errors"
	"fmt"
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

// WrongExits names every reported exit status that is not the true one. Its error says of
// which observed processes nobody knows the real one ([ErrNoTruth]), or which have two;
// the wrong ones are returned all the same.
func WrongExits(truths []Truth, reported []Observation, sent []Sent) (wrong []Finding, err error) {
	var errs []error
	known := map[process]Truth{}
	for _, t := range truths {
		p := process{t.Container, t.Exec}
		if old, ok := known[p]; ok && old.Status != t.Status {
			errs = append(errs, fmt.Errorf("exit ledger: %s exited with %d (%s) and with %d (%s)?",
				p, old.Status, old.Source, t.Status, t.Source))
			continue
		}
		known[p] = t
	}
	unknown := map[process]bool{}
	for _, o := range reported {
		p := process{o.Container, o.Exec}
		truth, ok := known[p]
		switch {
		case !ok && !unknown[p]:
			unknown[p] = true
			errs = append(errs, fmt.Errorf("exit ledger: %s: %w", p, ErrNoTruth))
		case ok && o.Status != truth.Status:
			wrong = append(wrong, wrongExit(o, truth, sent))
		}
	}
	return wrong, errors.Join(errs...)
}
