// Package event answers: what did containerd's event stream report? A [Log] subscribes to
// the stream, and keeps the events about tasks. It makes no findings.
package event

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

// Task is one event of containerd's stream about a task.
type Task struct {
	Namespace string `json:"namespace"`
	Topic     string `json:"topic"`
	Container string `json:"container"`
	// Exec is "" for the init process, although containerd's TaskExit then has the
	// container's id.
	Exec   string    `json:"exec,omitempty"`
	PID    int       `json:"pid,omitempty"`
	Status uint32    `json:"status,omitempty"`
	Exited time.Time `json:"exited,omitzero"` // exited_at; zero if the event has none
	Sent   time.Time `json:"sent"`            // the envelope's timestamp
	Seen   time.Time `json:"seen"`            // the time of its arrival
}

// Gap is a time without a subscription. To is zero while it lasts.
type Gap struct {
	From time.Time `json:"from"`
	To   time.Time `json:"to,omitzero"`
}

// Overlaps reports whether the gap overlaps the time between two others.
func (g Gap) Overlaps(from, to time.Time) bool {
	return !g.From.After(to) && (g.To.IsZero() || !g.To.Before(from))
}

// Log keeps the events in the order of their arrival, and the times without a
// subscription. The zero value is ready; it may be used concurrently.
type Log struct {
	mu     sync.Mutex
	events []Task
	gaps   []Gap
	grown  chan struct{} // closed when an event or a mark arrives
	marks  map[string]bool
}

// Add appends an event. It drops those after maxEvents, and begins a gap with the first.
func (l *Log) Add(e Task) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.events) == maxEvents {
		if !slices.ContainsFunc(l.gaps, func(g Gap) bool { return g.To.IsZero() }) {
			l.gaps = append(l.gaps, Gap{From: time.Now()})
		}
		return
	}
	l.events = append(l.events, e)
	l.wake()
}

// wake ends all waits for more events. The caller holds the lock.
func (l *Log) wake() {
	if l.grown != nil {
		close(l.grown)
		l.grown = nil
	}
}

// Missed records a time without a subscription: containerd was down, or the stream broke.
// An event may be missing then, but not repeated or out of order.
func (l *Log) Missed(from, to time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.gaps = append(l.gaps, Gap{from, to})
}

// Gaps returns the times without a subscription.
func (l *Log) Gaps() []Gap {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.gaps)
}

// Events returns a copy of the events in the order of their arrival.
func (l *Log) Events() []Task {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.events)
}

// Await waits until done returns true for the events, or ctx ends.
func (l *Log) Await(ctx context.Context, done func([]Task) bool) {
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

// sofar returns the events, and a channel that is closed when there are more.
func (l *Log) sofar() ([]Task, <-chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.grown == nil {
		l.grown = make(chan struct{})
	}
	return slices.Clone(l.events), l.grown
}
