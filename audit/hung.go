package audit

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"
)

// maxHung is the maximum number of attempts that hang. Each blocks a thread that cannot
// be ended.
const maxHung = 100

// attempts has the reads that hang in the kernel, by name. Without this record, `audit
// --watch` would begin another hanging read each minute, and block another thread.
type attempts struct {
	mu   sync.Mutex
	hung map[string]<-chan struct{} // closed when the read returns
}

var hung = attempts{hung: map[string]<-chan struct{}{}}

// errHangs and errStillReading report a read that does not return.
var (
	errHangs        = errors.New("hangs in the kernel: see wchan and stack of that process")
	errStillReading = errors.New("an earlier read has not returned, because it is slow or hangs in the kernel")
)

// begin returns an error if an earlier attempt with this name hangs, or if too many
// others hang.
func (a *attempts) begin(name string) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	for other, ended := range a.hung {
		select {
		case <-ended:
			delete(a.hung, other)
		default:
		}
	}
	if a.hung[name] != nil {
		return fmt.Errorf("reading %s: %w", name, errStillReading)
	}
	if len(a.hung) >= maxHung {
		return fmt.Errorf("reading %s was not tried: %d other reads hang in the kernel", name, len(a.hung))
	}
	return nil
}

func (a *attempts) abandon(name string, ended <-chan struct{}) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.hung[name] = ended
}

// step is a step of an attempt, with the time at which it began.
type step struct {
	what  string
	since time.Time
}

// attempt runs f, which calls at before each step. It abandons f if a step takes longer
// than the limit, or if the context ends. An abandoned f keeps running, so f must not
// write shared data. Only one attempt with the same name runs at a time.
func attempt[T any](ctx context.Context, name string, limit time.Duration, f func(at func(string)) (T, error)) (
	none T, err error) {
	if err := hung.begin(name); err != nil {
		return none, err
	}
	var last atomic.Pointer[step]
	at := func(what string) { last.Store(&step{what, time.Now()}) }
	at(name)
	var got T
	var failed error
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		got, failed = f(at)
	}()
	timer := time.NewTimer(limit)
	defer timer.Stop()
	for err == nil {
		select {
		case <-ended:
			return got, failed
		case <-ctx.Done():
			err = fmt.Errorf("reading was stopped at %s: %w", last.Load().what, ctx.Err())
		case <-timer.C:
			now := last.Load()
			if idle := time.Since(now.since); idle < limit {
				timer.Reset(limit - idle)
			} else {
				err = fmt.Errorf("reading %s %w", now.what, errHangs)
			}
		}
	}
	hung.abandon(name, ended)
	return none, err
}
