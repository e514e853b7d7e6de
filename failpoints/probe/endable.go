package probe

import (
	"context"
	"sync"
)

// endable is a context that a fault can end early, as a cancelled or an expired one.
type endable struct {
	context.Context
	kind string // ByCaller or ByTimeout
	done chan struct{}

	mu    sync.Mutex
	err   error
	after map[*func()]bool
}

func newEndable(parent context.Context) *endable {
	e := &endable{Context: parent, kind: ByCaller, done: make(chan struct{}), after: map[*func()]bool{}}
	if err := parent.Err(); err != nil { // at once: AfterFunc would tell a moment later
		e.end(err)
		return e
	}
	context.AfterFunc(parent, func() { e.end(parent.Err()) })
	return e
}

func (e *endable) end(err error) {
	if e == nil {
		return
	}
	e.mu.Lock()
	if e.err != nil {
		e.mu.Unlock()
		return
	}
	e.err = err
	close(e.done)
	after := e.after
	e.after = nil
	e.mu.Unlock()
	for f := range after {
		(*f)()
	}
}

// open is the context's kind while it has not ended; of nil it is "".
func (e *endable) open() string {
	if e == nil || e.Err() != nil {
		return ""
	}
	return e.kind
}

func (e *endable) Done() <-chan struct{} { return e.done }

func (e *endable) Err() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.err
}

func (e *endable) Value(key any) any {
	if key == (rootKey{}) {
		if outer := rootOf(e.Context); outer.open() != "" {
			return outer
		}
		return e
	}
	return e.Context.Value(key)
}

// AfterFunc is what package context looks for in contexts that are not its own: derived
// ones end before end returns, and not some time later.
func (e *endable) AfterFunc(f func()) (stop func() bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.err != nil {
		go f()
		return func() bool { return false }
	}
	e.after[&f] = true
	return func() bool {
		e.mu.Lock()
		defer e.mu.Unlock()
		was := e.after[&f]
		delete(e.after, &f)
		return was
	}
}
