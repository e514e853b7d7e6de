package slowsys

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// Injection is strace attached to a process. It ends with Detach, with the process, or
// when the process is killed within a delayed call.
type Injection struct {
	params Params
	cmd    *exec.Cmd
	trace  *trace
	done   chan struct{} // closed when strace has ended and its output was read

	attached chan struct{} // closed when strace reports it
	stderr   strings.Builder
	stderrMu sync.Mutex

	ending atomic.Bool // this package has ended strace
	lost   error       // why strace ended by itself; read after done is closed
}

// Attach delays a system call of a process from now on. It returns when every thread is
// traced. Its errors are ErrNoStrace, ErrNotAttached with strace's message, or the cause
// of ctx; strace has ended then. ctx bounds the attaching only.
func Attach(ctx context.Context, p Params) (_ *Injection, err error) {
	if err := p.check(); err != nil {
		return nil, fmt.Errorf("attach strace: %w", err)
	}
	in := &Injection{params: p, done: make(chan struct{}), attached: make(chan struct{})}
	if in.trace, err = newTrace(p); err != nil {
		return nil, err
	}
	if err := in.start(); err != nil {
		return nil, errors.Join(err, in.trace.close())
	}
	if err := in.awaitAttached(ctx); err != nil {
		return nil, errors.Join(err, in.kill())
	}
	return in, nil
}

// start starts strace, and the goroutine that owns it until it has ended.
func (in *Injection) start() error {
	traceR, traceW, err := os.Pipe()
	if err != nil {
		return fmt.Errorf("start strace: %w", err)
	}
	defer func() { _ = traceW.Close() }() // strace has its own
	stderrR, stderrW, err := os.Pipe()
	if err != nil {
		return errors.Join(fmt.Errorf("start strace: %w", err), traceR.Close())
	}
	defer func() { _ = stderrW.Close() }()

	if in.cmd, err = in.params.command(traceW, stderrW); err != nil {
		return errors.Join(err, traceR.Close(), stderrR.Close())
	}
	started := make(chan error)
	go in.own(started, traceR, stderrR)
	return <-started
}

// own starts strace, reads its output, and reaps it. It keeps its thread, because the
// parent-death signal is sent when the thread that started strace ends. If the harness is
// SIGKILLed, strace ends with it, and the traced process continues without delays.
func (in *Injection) own(started chan<- error, traceR, stderrR *os.File) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	in.cmd.SysProcAttr = &unix.SysProcAttr{Pdeathsig: unix.SIGKILL}
	start := in.params.Start
	if start == nil {
		start = (*exec.Cmd).Start
	}
	if err := start(in.cmd); err != nil {
		started <- errors.Join(fmt.Errorf("start strace: %w", err), traceR.Close(), stderrR.Close())
		return
	}
	started <- nil

	var readers sync.WaitGroup
	readers.Go(func() { in.readStderr(stderrR) })
	readers.Go(func() { in.trace.read(traceR, in.letGo) })
	ended := in.cmd.Wait()
	readers.Wait()
	if ended != nil && !in.ending.Load() {
		in.lost = fmt.Errorf("%w: %w", ErrLost, ended)
		if in.cmd.ProcessState.Exited() {
			in.lost = fmt.Errorf("%w: %s", in.lost, in.said())
		}
	}
	close(in.done)
}

// letGo ends strace at once. If a thread is SIGKILLed during a delay, strace holds it in
// its exit stop until the delay is over. The whole process waits for that thread (seen
// with 6.1). Without its tracer the thread ends immediately.
func (in *Injection) letGo() {
	in.ending.Store(true)
	_ = in.cmd.Process.Kill()
}

// awaitAttached waits for strace's message, then checks with the kernel.
func (in *Injection) awaitAttached(ctx context.Context) error {
	select {
	case <-in.attached:
	case <-in.done:
		return fmt.Errorf("%w to pid %d: %s", ErrNotAttached, in.params.PID, in.said())
	case <-ctx.Done():
		return fmt.Errorf("attach strace to pid %d: %w", in.params.PID, context.Cause(ctx))
	}
	// A thread that was created while strace walked the list may be attached a little
	// later.
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for {
		free, err := notTraced(in.params.PID, in.cmd.Process.Pid)
		if err == nil && len(free) == 0 {
			return nil
		}
		select {
		case <-tick.C:
		case <-in.done:
			return fmt.Errorf("%w to pid %d: %s", ErrNotAttached, in.params.PID, in.said())
		case <-ctx.Done():
			return fmt.Errorf("attach strace to pid %d: threads %v are not traced: %w",
				in.params.PID, free, errors.Join(context.Cause(ctx), err))
		}
	}
}

// Detach ends the injection and waits until strace has ended. The process continues, and
// so does a delayed call. If ctx ends first, Detach kills strace, and the kernel detaches
// it. Detach does nothing if the injection has ended. It returns an error if strace's log
// cannot be closed: Calls is complete all the same.
func (in *Injection) Detach(ctx context.Context) error {
	select {
	case <-in.done:
		return in.trace.close()
	default:
	}
	in.ending.Store(true)
	_ = in.cmd.Process.Signal(unix.SIGTERM) // fails only if it has ended
	select {
	case <-in.done:
		return in.trace.close()
	case <-ctx.Done():
		return in.kill()
	}
}

func (in *Injection) kill() error {
	in.letGo()
	<-in.done
	return in.trace.close()
}

// Done is closed when strace has ended, for whatever reason.
func (in *Injection) Done() <-chan struct{} { return in.done }

// Began is closed when the first call has entered its delay: the fault is active.
func (in *Injection) Began() <-chan struct{} { return in.trace.began }

// Err returns ErrLost if strace has ended by itself. It returns another error if a
// delayed call took less than the delay.
func (in *Injection) Err() error {
	select {
	case <-in.done:
		if in.lost != nil {
			return in.lost
		}
	default:
	}
	return tooShort(in.Calls(), in.params.Delay)
}

// tooShort returns the error for the first delayed call that returned before its delay
// was over, or nil.
func tooShort(calls []Call, delay time.Duration) error {
	for _, c := range calls {
		if c.Returned() && c.Delayed && c.Took < delay-slack(delay) {
			return fmt.Errorf("strace delayed a call by less than %v: %v", delay, c)
		}
	}
	return nil
}

// slack returns the tolerance: strace may report that a call took less than its delay, by
// at most this time. Strace begins
// the delay when the call enters, prints the line, and measures from then on. An emulated
// processor needed 3.6 ms for the line, and other processes can run in between.
func slack(delay time.Duration) time.Duration { return min(delay/2, 100*time.Millisecond) }

// Calls returns all calls of the delayed system call so far, including calls that are
// still delayed.
func (in *Injection) Calls() []Call { return in.trace.calls() }

// Fired returns the number of delayed calls. It also returns the longest time, with the
// delay, of the calls that returned. It counts a call that is still delayed, and a call
// during whose delay the thread was killed. After a SIGKILL of the process within a call,
// n may be too high by one. Strace can print that call a second time when another thread
// dies (seen with 6.1 on one CPU).
func (in *Injection) Fired() (n int, longest time.Duration) {
	for _, c := range in.Calls() {
		if c.Returned() && !c.Delayed {
			continue // strace detached at that time, without a delay
		}
		n++
		longest = max(longest, c.Took)
	}
	return n, longest
}
