// Package engine runs cases. Every sweep, comparison, search and replay is a sequence of
// items and a function that runs the cases of one item. The engine runs several items at
// a time, ends them on an interrupt, and removes the evidence that nothing keeps.
package engine

import (
	"context"
	"errors"
	"iter"
	"os"
	"sync"

	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/harness/runner"
)

// Runner runs one case: a [runner.Runner].
type Runner interface {
	Run(context.Context, harness.Case) harness.Verdict
	Trace(context.Context, harness.Case) (harness.Trace, error)
}

// Engine runs cases with a Runner.
type Engine struct {
	Runner
	slots *slots        // of the cases that work concurrently
	exist chan struct{} // has an entry for each case that exists
}

// worldsOfSlot is the number of cases for each slot. Most of them only wait for leftovers
// to vanish. It is limited because each keeps a containerd in memory.
const worldsOfSlot = 8

// New returns an engine in which so many cases work concurrently. More cases exist at a
// time, because a case that only waits yields its place: New sets the Yield of a
// *[runner.Runner]. Another Runner runs so many cases, and no more.
func New(r Runner, parallel int) *Engine {
	parallel = max(parallel, 1)
	e := &Engine{Runner: r, exist: make(chan struct{}, parallel)}
	if real, ok := r.(*runner.Runner); ok {
		e.slots, e.exist = newSlots(parallel), make(chan struct{}, parallel*worldsOfSlot)
		real.Yield = e.slots.yield
	}
	return e
}

// ErrInterrupted reports that the context ended before all items were done.
var ErrInterrupted = errors.New("interrupted")

// Task runs the cases of one item.
type Task struct {
	ctx      context.Context //nolint:containedctx // a task ends with its context
	engine   *Engine
	evidence map[string]bool // the folders of its runs, and whether they are kept
}

// Run runs a case, and returns ErrInterrupted if the context has ended: the verdict of an
// interrupted run has no meaning.
func (t *Task) Run(c harness.Case) (harness.Verdict, error) {
	trace, err := t.do(func() (harness.Trace, error) {
		return harness.Trace{Verdict: t.engine.Runner.Run(t.ctx, c)}, nil
	})
	return trace.Verdict, err
}

// Trace runs a case and traces it. If the context has ended, the error is ErrInterrupted.
func (t *Task) Trace(c harness.Case) (harness.Trace, error) {
	return t.do(func() (harness.Trace, error) { return t.engine.Runner.Trace(t.ctx, c) })
}

// Context returns the context of the task's runs.
func (t *Task) Context() context.Context { return t.ctx }

func (t *Task) do(run func() (harness.Trace, error)) (harness.Trace, error) {
	if t.ctx.Err() != nil {
		return harness.Trace{}, ErrInterrupted
	}
	t.engine.exist <- struct{}{} // several sequences of items may run at a time
	defer func() { <-t.engine.exist }()
	t.engine.slots.take()
	defer t.engine.slots.give()
	trace, err := run()
	if dir := trace.Verdict.Evidence; dir != "" {
		t.evidence[dir] = false
	}
	if t.ctx.Err() != nil {
		return trace, ErrInterrupted
	}
	return trace, err
}

// Keep keeps the evidence in a folder, of one of the task's runs. All other evidence is
// removed when the task is done.
func (t *Task) Keep(evidence string) { t.evidence[evidence] = true }

// close removes the evidence that is not kept.
func (t *Task) close() (err error) {
	for dir, kept := range t.evidence {
		if !kept {
			err = errors.Join(err, os.RemoveAll(dir))
		}
	}
	return err
}

// Each calls work for each item, in so many goroutines as cases may exist, and then done
// with its result, one at a time. It asks for the next item when a goroutine is free, so
// the items may depend on earlier results: done is not called meanwhile.
//
// An error of work or done ends the other tasks, and Each returns it. When ctx ends, Each
// returns ErrInterrupted, and done was called for the finished items.
func Each[T, R any](ctx context.Context, e *Engine, items iter.Seq[T], work func(*Task, T) (R, error),
	done func(*Task, R) error) error {
	next, end := iter.Pull(items)
	defer end()
	return Follow(ctx, e, next, work, done)
}

// Follow is Each for items that the results decide. If next has no item now, Follow calls
// it again after the next result. It ends when there is no item and no task runs.
func Follow[T, R any](ctx context.Context, e *Engine, next func() (T, bool), work func(*Task, T) (R, error),
	done func(*Task, R) error) error {
	running, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	var mu sync.Mutex // of next and done
	result := sync.NewCond(&mu)
	tasks := 0
	more := func() (item T, ok bool) {
		mu.Lock()
		defer mu.Unlock()
		for running.Err() == nil {
			if item, ok = next(); ok {
				tasks++
				return item, true
			}
			if tasks == 0 {
				break
			}
			result.Wait()
		}
		return item, false
	}
	one := func(item T) (err error) {
		t := &Task{ctx: running, engine: e, evidence: map[string]bool{}}
		defer func() { err = errors.Join(err, t.close()) }()
		r, err := work(t, item)
		mu.Lock()
		defer mu.Unlock()
		defer result.Broadcast()
		tasks--
		if err != nil {
			return err
		}
		return done(t, r)
	}
	var workers sync.WaitGroup
	for range cap(e.exist) {
		workers.Go(func() {
			for item, ok := more(); ok; item, ok = more() {
				if err := one(item); err != nil {
					stop(err)
				}
			}
		})
	}
	workers.Wait()
	switch cause := context.Cause(running); {
	case cause == nil:
		return nil
	case ctx.Err() != nil:
		return ErrInterrupted
	default:
		return cause
	}
}

// Indexes returns the numbers from 0 to n-1.
func Indexes(n int) iter.Seq[int] {
	return func(yield func(int) bool) {
		for i := 0; i < n && yield(i); i++ {
		}
	}
}

// Repeat runs a case n times. It begins no more runs once a verdict is enough. A nil
// enough asks for all. visit, which may be nil, is called with each run, one at a time;
// without it the evidence is removed.
func (e *Engine) Repeat(ctx context.Context, c harness.Case, n int, enough func(harness.Verdict) bool,
	visit func(*Task, harness.Verdict) error) (all []harness.Verdict, err error) {
	over := false
	runs := func(yield func(harness.Case) bool) {
		for i := 0; i < n && !over && yield(c); i++ {
		}
	}
	err = Each(ctx, e, runs, (*Task).Run, func(t *Task, v harness.Verdict) error {
		all = append(all, v)
		over = over || enough != nil && enough(v)
		if visit == nil {
			return nil
		}
		return visit(t, v)
	})
	return all, err
}

// KeepAll is a visit of Repeat that keeps the evidence of each run.
func KeepAll(t *Task, v harness.Verdict) error {
	t.Keep(v.Evidence)
	return nil
}
