package probe

import (
	"context"
	"sync"
)

// endable is a context that a fault can end early, as a cancelled or an expired one.
type endable struct {
	context.Context
	done chan struct{}

	mu  sync.Mutex
	err error
}

func newEndable(parent context.Context) *endable {
	e := &endable{Context: parent, done: make(chan struct{})}
	context.AfterFunc(parent, func() { e.end(parent.Err()) })
	return e
}

func (e *endable) end(err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.err == nil {
		e.err = err
		close(e.done)
	}
}

func (e *endable) Done() <-chan struct{} { return e.done }

func (e *endable) Err() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.err
}
