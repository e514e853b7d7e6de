package harness

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/shimquake/shimquake/oracle"
)

// The client waits after a failed attempt before the next, longer each time. kubelet and dockerd wait longer; what matters is that they come back.
const (
	firstRetry = 5 * time.Millisecond
	lastRetry  = 50 * time.Millisecond
)

// caller makes the client's calls: each with its own deadline, each on the timeline, and the one in flight can be cancelled.
type caller struct {
	timeline *timeline
	timeout  time.Duration
	// failed is told of every call that failed.
	failed func(what string, err error)

	mu      sync.Mutex
	current *flight
}

// flight is a call in flight.
type flight struct {
	what   string
	cancel context.CancelFunc
	done   chan struct{}
}

// call runs f as one call of the client.
func (c *caller) call(ctx context.Context, what string, f func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	fl := &flight{what: what, cancel: cancel, done: make(chan struct{})}
	c.mu.Lock()
	c.current = fl
	c.mu.Unlock()
	e := Entry{At: time.Now(), Who: "client", What: what}
	err := f(ctx)
	e.Took = time.Since(e.At)
	if err != nil {
		e.Err = err.Error()
		c.failed(what, err)
		verb, _, _ := strings.Cut(what, " ")
		err = &oracle.CallError{Call: verb, Err: err}
	}
	c.timeline.add(e)
	close(fl.done)
	c.mu.Lock()
	if c.current == fl {
		c.current = nil
	}
	c.mu.Unlock()
	return err
}

// inFlight is the call that runs now, or nil.
func (c *caller) inFlight() *flight {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.current
}

// until calls attempt again and again until it succeeds or ctx ends. The error is that of the last attempt that the end of ctx did not cut off, if
// there is one: which of an attempt's calls is cut off is luck, and its error says nothing.
func until(ctx context.Context, attempt func(context.Context) error) error {
	pause, wait := time.NewTimer(0), firstRetry
	defer pause.Stop()
	var last error
	for {
		select {
		case <-ctx.Done():
			return errors.Join(last, fmt.Errorf("gave up: %w", ctx.Err()))
		case <-pause.C:
		}
		err := attempt(ctx)
		if err == nil {
			return nil
		}
		if last == nil || ctx.Err() == nil {
			last = err
		}
		pause.Reset(wait)
		wait = min(2*wait, lastRetry)
	}
}
