package audit

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// mostHung limits the attempts that hang. Each holds a thread that cannot be ended.
const mostHung = 100

// attempts has the reads that hang in the kernel, by name. Without it, a watch would
// begin another one each minute, and add a thread each time.
type attempts struct {
	mu   sync.Mutex
	hung map[string]<-chan struct{} // closed when the read returns
}

var hung = attempts{hung: map[string]<-chan struct{}{}}

// hangError reports a read that does not return.
type hangError struct {
	what  string
	since time.Duration
}

func (e *hangError) Error() string {
	return fmt.Sprintf("reading %s hangs in the kernel: see wchan and stack of that process", e.what)
}

var errStillReading = errors.New("an earlier read has not returned: it hangs in the kernel, or is slow")

// begin returns why an attempt must not begin.
func (a *attempts) begin(name string) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if ended := a.hung[name]; ended != nil {
		select {
		case <-ended:
			delete(a.hung, name)
		default:
			return fmt.Errorf("reading %s: %w", name, errStillReading)
		}
	}
	for name, ended := range a.hung {
		select {
		case <-ended:
			delete(a.hung, name)
		default:
		}
	}
	if len(a.hung) >= mostHung {
		return fmt.Errorf("reading %s was not tried: %d other reads hang in the kernel", name, len(a.hung))
	}
	return nil
}

func (a *attempts) abandon(name string, ended <-chan struct{}) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.hung[name] = ended
}

// attempt runs f. It abandons f after a limit without a step, or when the context ends.
// f then keeps running, so it must write no shared data. There is one attempt for a
// name at a time.
func attempt[T any](ctx context.Context, name string, limit time.Duration, f func(at func(string)) T) (T, error) {
	var none T
	if err := hung.begin(name); err != nil {
		return none, err
	}
	p := &progress{what: name, since: time.Now()}
	done := make(chan T, 1)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		done <- f(p.at)
	}()
	timer := time.NewTimer(limit)
	defer timer.Stop()
	for {
		select {
		case got := <-done:
			return got, nil
		case <-ctx.Done():
			select {
			case got := <-done:
				return got, nil
			default:
			}
			hung.abandon(name, ended)
			what, _ := p.last()
			return none, fmt.Errorf("reading was cut at %s: %w", what, ctx.Err())
		case <-timer.C:
			what, idle := p.last()
			if idle >= limit {
				hung.abandon(name, ended)
				return none, &hangError{what, idle}
			}
			timer.Reset(limit - idle)
		}
	}
}

// progress is the step of an attempt, and its beginning.
type progress struct {
	mu    sync.Mutex
	what  string
	since time.Time
}

func (p *progress) at(what string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.what, p.since = what, time.Now()
}

func (p *progress) last() (what string, idle time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.what, time.Since(p.since)
}
