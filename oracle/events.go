package oracle

import (
	"context"
	"slices"
	"sync"
	"time"
)

// The topics of a task's events (runtime.Task*EventTopic in containerd).
const (
	TopicCreate    = "/tasks/create"
	TopicStart     = "/tasks/start"
	TopicExit      = "/tasks/exit"
	TopicDelete    = "/tasks/delete"
	TopicPaused    = "/tasks/paused"
	TopicResumed   = "/tasks/resumed"
	TopicExecAdded = "/tasks/exec-added"
	TopicExecStart = "/tasks/exec-started"
	TopicOOM       = "/tasks/oom"
)

// TaskEvent is one event of containerd's stream about a task.
type TaskEvent struct {
	Namespace string `json:"namespace"`
	Topic     string `json:"topic"`
	Container string `json:"container"`
	// Exec is "" for the init process, although containerd's TaskExit then carries the
	// container's id.
	Exec   string    `json:"exec,omitempty"`
	PID    int       `json:"pid,omitempty"`
	Status uint32    `json:"status,omitempty"`
	Exited time.Time `json:"exited,omitzero"` // exited_at; the zero time when the event has none
	Sent   time.Time `json:"sent"`            // the envelope's timestamp
	Seen   time.Time `json:"seen"`            // when it arrived here
}

// IsExitOf reports whether it tells of the end of the use of an id that has that init.
func (e TaskEvent) IsExitOf(id string, pid int) bool {
	return e.Topic == TopicExit && e.Container == id && e.Exec == "" && e.PID == pid
}

// Gap is a time in which nobody was subscribed. To is the zero time while it lasts.
type Gap struct {
	From time.Time `json:"from"`
	To   time.Time `json:"to,omitzero"`
}

// Overlaps reports whether a part of it is between two times.
func (g Gap) Overlaps(from, to time.Time) bool {
	return !g.From.After(to) && (g.To.IsZero() || !g.To.Before(from))
}

// EventLog keeps the events in the order of their arrival, and the times in which nobody
// was subscribed. The zero value is ready; it may be used concurrently.
type EventLog struct {
	mu         sync.Mutex
	events     []TaskEvent
	containers []ContainerEvent
	gaps       []Gap
	grown      chan struct{} // closed when an event is added, or a mark arrives
	marks      map[string]bool
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

// Missed records that nobody was subscribed between two times: containerd was down, or
// the stream broke. An event may be missing then; twice or out of order it may not be.
func (l *EventLog) Missed(from, to time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.gaps = append(l.gaps, Gap{from, to})
}

// Gaps are the times in which nobody was subscribed.
func (l *EventLog) Gaps() []Gap {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.gaps)
}

// Events returns a copy of the events in the order of their arrival.
func (l *EventLog) Events() []TaskEvent {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.events)
}

// Await waits until done is true of the events, or ctx ends.
func (l *EventLog) Await(ctx context.Context, done func([]TaskEvent) bool) {
	for {
		events, more := l.sofar()
		if done(events) {
			return
		}
		select {
		case <-more:
		case <-ctx.Done():
			return
		}
	}
}

// sofar are the events, and a channel that is closed when there are more.
func (l *EventLog) sofar() ([]TaskEvent, <-chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.grown == nil {
		l.grown = make(chan struct{})
	}
	return slices.Clone(l.events), l.grown
}

// Reported are the exit statuses that events carry.
func Reported(events []TaskEvent) []Observation {
	by := map[string]Observer{TopicExit: ByTaskExit, TopicDelete: ByTaskDelete}
	var out []Observation
	for _, e := range events {
		if by[e.Topic] != "" {
			out = append(
				out,
				Observation{
					Container: e.Container,
					Exec:      e.Exec,
					Observer:  by[e.Topic],
					Status:    e.Status,
					At:        e.Exited,
					PID:       e.PID,
				},
			)
		}
	}
	return out
}
