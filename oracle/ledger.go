package oracle

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"sync"
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
	ByShimState  Observer = "shim-state"  // the shim's answer to State, once it has told the exit by Wait
	ByCRIStatus  Observer = "cri-status"  // CRI's ContainerStatus
	ByRestarted  Observer = "restarted"   // a restarted containerd's State or Wait
	ByNobody     Observer = "nobody"      // of an exit that no client could learn
)

// ErrNoTruth says that the real exit status of an observed container is not known, so its
// codes cannot be judged.
var ErrNoTruth = errors.New("the real exit status is not known")

// Observation is an exit status that somebody told.
type Observation struct {
	Container string    `json:"container"`
	Exec      string    `json:"exec,omitempty"` // "" for the container's init process
	Observer  Observer  `json:"observer"`
	Status    uint32    `json:"status"` // 128+signal when a signal ended it; 255 when containerd could not tell
	At        time.Time `json:"at"`     // the exit's time as told, not the time of the telling
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

// Ledger collects what was told of exit codes and what is true. The zero value is ready;
// it may be used concurrently.
type Ledger struct {
	mu     sync.Mutex
	told   []Observation
	truths map[process]Truth
	sent   map[process]map[int]string // signal -> who sent it
}

// process names a container's init (exec "") or one of its execs.
type process struct{ container, exec string }

func (p process) String() string {
	if p.exec == "" {
		return p.container
	}
	return p.container + ", exec " + p.exec
}

// Observe records what somebody told.
func (l *Ledger) Observe(o Observation) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.told = append(l.told, o)
}

// True records the real exit status. Two different truths of one process are an error of
// the harness.
func (l *Ledger) True(t Truth) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	p := process{t.Container, t.Exec}
	if old, ok := l.truths[p]; ok && old.Status != t.Status {
		return fmt.Errorf(
			"exit ledger: %s exited with %d (%s) and with %d (%s)?",
			p,
			old.Status,
			old.Source,
			t.Status,
			t.Source,
		)
	}
	if l.truths == nil {
		l.truths = map[process]Truth{}
	}
	l.truths[p] = t
	return nil
}

// Sent records a signal that somebody sent to the process, so that a made-up 128+signal
// is told from a real one.
func (l *Ledger) Sent(container, exec string, signal int, by string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.sent == nil {
		l.sent = map[process]map[int]string{}
	}
	p := process{container, exec}
	if l.sent[p] == nil {
		l.sent[p] = map[int]string{}
	}
	l.sent[p][signal] = by
}

// Observations returns a copy of what was told, in the order of telling.
func (l *Ledger) Observations() []Observation {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.told)
}

// Truths returns a copy of what is true, ordered by container and exec.
func (l *Ledger) Truths() []Truth {
	l.mu.Lock()
	defer l.mu.Unlock()
	out := make([]Truth, 0, len(l.truths))
	for _, t := range l.truths {
		out = append(out, t)
	}
	slices.SortFunc(out, func(a, b Truth) int {
		return cmp.Or(cmp.Compare(a.Container, b.Container), cmp.Compare(a.Exec, b.Exec))
	})
	return out
}

// Check names every wrong exit status. Its error says of which observed processes nobody
// knows the real one ([ErrNoTruth]); the wrong ones are returned all the same.
func (l *Ledger) Check() ([]Finding, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	var wrong []Finding
	var errs []error
	unknown := map[process]bool{}
	for _, o := range l.told {
		p := process{o.Container, o.Exec}
		truth, ok := l.truths[p]
		switch {
		case !ok && !unknown[p]:
			unknown[p] = true
			errs = append(errs, fmt.Errorf("exit ledger: %s: %w", p, ErrNoTruth))
		case ok && o.Status != truth.Status:
			wrong = append(wrong, l.wrong(p, o, truth))
		}
	}
	return wrong, errors.Join(errs...)
}
