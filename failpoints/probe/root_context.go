package probe

import (
	"context"
	"sync"
)

// rootContext is a context that a fault can end early, like a cancelled or an expired
// one.
type rootContext struct {
	context.Context
	kind string // ByCaller or ByTimeout
	done chan struct{}

	mu    sync.Mutex
	err   error
	after map[*func()]bool
}

func newRootContext(parent context.Context) *rootContext {
	e := &rootContext{Context: parent, kind: ByCaller, done: make(chan struct{}), after: map[*func()]bool{}}
	if err := parent.Err(); err != nil { // AfterFunc would end it a moment later
		e.end(err)
		return e
	}
	context.AfterFunc(parent, func() { e.end(parent.Err()) })
	return e
}

func (e *rootContext) end(err error) {
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

// open returns the context's kind until the context has ended. It returns "" for nil.
func (e *rootContext) open() string {
	if e == nil || e.Err() != nil {
		return ""
	}
	return e.kind
}

func (e *rootContext) Done() <-chan struct{} { return e.done }

func (e *rootContext) Err() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.err
}

func (e *rootContext) Value(key any) any {
	if key == (rootKey{}) {
		if outer := rootOf(e.Context); outer.open() != "" {
			return outer
		}
		return e
	}
	return e.Context.Value(key)
}

// AfterFunc is the method that package context looks for in foreign contexts. With it,
// derived contexts end before end returns, and not some time later.
func (e *rootContext) AfterFunc(f func()) (stop func() bool) {
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
