package oracle

import (
	"slices"
	"sync"
	"time"
)

// The topics that an EventLog judges (runtime.Task*EventTopic in containerd).
const (
	topicCreate    = "/tasks/create"
	topicStart     = "/tasks/start"
	topicExit      = "/tasks/exit"
	topicDelete    = "/tasks/delete"
	topicExecStart = "/tasks/exec-started"
)

// TaskEvent is one event of containerd's stream about a task.
type TaskEvent struct {
	Namespace string `json:"namespace"`
	Topic     string `json:"topic"`
	Container string `json:"container"`
	// Exec is "" for the init process, although containerd's TaskExit then carries the container's id.
	Exec   string    `json:"exec,omitempty"`
	PID    int       `json:"pid,omitempty"`
	Status uint32    `json:"status,omitempty"`
	Exited time.Time `json:"exited,omitzero"` // exited_at; the zero time when the event has none
	Sent   time.Time `json:"sent"`            // the envelope's timestamp
	Seen   time.Time `json:"seen"`            // when it arrived here
}

// span is a time in which nobody listened.
type span struct{ from, to time.Time }

// EventLog keeps the events in the order of their arrival, and the times in which nobody was subscribed. The zero
// value is ready; it may be used concurrently.
type EventLog struct {
	mu     sync.Mutex
	events []TaskEvent
	deaf   []span
	grown  chan struct{} // closed when an event is added, or a mark arrives
	marks  map[string]bool
}

// Add appends an event.
func (l *EventLog) Add(e TaskEvent) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.events = append(l.events, e)
	if l.grown != nil {
		close(l.grown)
		l.grown = nil
	}
}

// Deaf records that nobody was subscribed between two times: containerd was down, or the stream broke. An event may
// be missing then; twice or out of order it may not be.
func (l *EventLog) Deaf(from, to time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.deaf = append(l.deaf, span{from, to})
}

// Events returns a copy of the events in the order of their arrival.
func (l *EventLog) Events() []TaskEvent {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.events)
}

// Grown returns the events and a channel that is closed when there are more: so one can wait for an event without polling.
func (l *EventLog) Grown() ([]TaskEvent, <-chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.grown == nil {
		l.grown = make(chan struct{})
	}
	return slices.Clone(l.events), l.grown
}

// Ledgered gives the exits and deletes of the log to an exit ledger.
func (l *EventLog) Ledgered(into *Ledger) {
	for _, e := range l.Events() {
		o := Observation{Container: e.Container, Exec: e.Exec, Status: e.Status, At: e.Exited, PID: e.PID}
		switch e.Topic {
		case topicExit:
			o.Observer = ByTaskExit
		case topicDelete:
			o.Observer = ByTaskDelete
		default:
			continue
		}
		into.Observe(o)
	}
}
