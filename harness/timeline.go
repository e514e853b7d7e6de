package harness

import (
	"fmt"
	"slices"
	"sync"
	"time"
)

// Entry is one thing that happened.
type Entry struct {
	At   time.Time     `json:"at"`
	Who  string        `json:"who"` // client, harness, containerd, shim, event, oracle
	What string        `json:"what"`
	Took time.Duration `json:"tookNs,omitempty"`
	Err  string        `json:"err,omitempty"`
}

// String is a line of the timeline's text form, with the time since from.
func (e Entry) line(from time.Time) string {
	s := fmt.Sprintf("%9.3fs %-10s %s", e.At.Sub(from).Seconds(), e.Who, e.What)
	if e.Took > 0 {
		s += fmt.Sprintf(" (%s)", e.Took.Round(time.Microsecond))
	}
	if e.Err != "" {
		s += " -> " + e.Err
	}
	return s
}

// timeline collects entries from several goroutines.
type timeline struct {
	mu      sync.Mutex
	entries []Entry
}

func (t *timeline) add(e Entry) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.entries = append(t.entries, e)
}

func (t *timeline) note(who, format string, args ...any) {
	t.add(Entry{At: time.Now(), Who: who, What: fmt.Sprintf(format, args...)})
}

// sorted are the entries by time.
func (t *timeline) sorted() []Entry {
	t.mu.Lock()
	defer t.mu.Unlock()
	all := slices.Clone(t.entries)
	slices.SortStableFunc(all, func(a, b Entry) int { return a.At.Compare(b.At) })
	return all
}
