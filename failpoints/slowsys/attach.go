package slowsys

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/procfs"
	"golang.org/x/sys/unix"
)

// Injection is strace attached to a process. It ends with Detach, with the process, or
// when the process is killed within a delayed call.
type Injection struct {
	params Params
	cmd    *exec.Cmd
	done   chan struct{} // closed when strace has ended and its output was read

	mu       sync.Mutex // guards the output
	parser   *parser
	tail     string // the unfinished line of the trace
	log      io.WriteCloser
	logErr   error
	messages string
	attached chan struct{} // closed when strace reports it

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
	in := &Injection{params: p, parser: newParser(p.Syscall), done: make(chan struct{}), attached: make(chan struct{})}
	if in.cmd, err = p.command(); err != nil {
		return nil, err
	}
	in.cmd.Stdout, in.cmd.Stderr = output(in.trace), output(in.say)
	if p.Log != nil {
		if in.log, err = p.Log(); err != nil {
			return nil, fmt.Errorf("keep strace's log: %w", err)
		}
	}
	started := make(chan error)
	go in.own(started)
	if err := <-started; err != nil {
		return nil, errors.Join(fmt.Errorf("start strace: %w", err), in.close())
	}
	if err := in.awaitAttached(ctx); err != nil {
		return nil, errors.Join(err, in.kill())
	}
	return in, nil
}

// own starts strace, and reaps it. It keeps its thread, because the parent-death signal
// is sent when the thread that started strace ends. If the harness is SIGKILLed, strace
// ends with it, and the traced process continues without delays.
func (in *Injection) own(started chan<- error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	in.cmd.SysProcAttr = &unix.SysProcAttr{Pdeathsig: unix.SIGKILL}
	err := in.cmd.Start()
	started <- err
	if err != nil {
		return
	}
	ended := in.cmd.Wait() // also for the rest of its output
	if ended != nil && !in.ending.Load() {
		in.lost = fmt.Errorf("%w: %w", ErrLost, ended)
		if in.cmd.ProcessState.Exited() {
			in.lost = fmt.Errorf("%w: %s", in.lost, in.said())
		}
	}
	close(in.done)
}

// output is a function that gets the output of strace.
type output func(part string)

// Write passes the output on.
func (o output) Write(part []byte) (int, error) {
	o(string(part))
	return len(part), nil
}

// trace parses and keeps a part of the trace.
func (in *Injection) trace(part string) {
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.log != nil {
		_, err := io.WriteString(in.log, part)
		in.logErr = errors.Join(in.logErr, err)
	}
	lines := strings.Split(in.tail+part, "\n")
	in.tail = lines[len(lines)-1]
	for _, line := range lines[:len(lines)-1] {
		if c := in.parser.line(line); c != nil && c.Killed {
			in.letGo()
		}
	}
}

// say keeps strace's messages, and notes when it reports that it is attached: "strace:
// Process 41 attached with 5 threads".
func (in *Injection) say(part string) {
	in.mu.Lock()
	defer in.mu.Unlock()
	said := fmt.Sprintf(": Process %d attached", in.params.PID)
	was := strings.Contains(in.messages, said)
	in.messages += part
	if !was && strings.Contains(in.messages, said) {
		close(in.attached)
	}
}

func (in *Injection) said() string {
	in.mu.Lock()
	defer in.mu.Unlock()
	return strings.TrimSpace(in.messages)
}

// close closes the log.
func (in *Injection) close() error {
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.log == nil {
		return nil
	}
	err := errors.Join(in.logErr, in.log.Close())
	in.log = nil
	if err != nil {
		return fmt.Errorf("keep strace's log: %w", err)
	}
	return nil
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
	tick := time.Tick(2 * time.Millisecond)
	for {
		free, err := notTraced(in.params.PID, in.cmd.Process.Pid)
		if err == nil && len(free) == 0 {
			return nil
		}
		select {
		case <-tick:
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
		return in.close()
	default:
	}
	in.ending.Store(true)
	_ = in.cmd.Process.Signal(unix.SIGTERM) // fails only if it has ended
	select {
	case <-in.done:
		return in.close()
	case <-ctx.Done():
		return in.kill()
	}
}

func (in *Injection) kill() error {
	in.letGo()
	<-in.done
	return in.close()
}

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
func (in *Injection) Calls() []Call {
	in.mu.Lock()
	defer in.mu.Unlock()
	return in.parser.with(in.tail)
}

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

// notTraced lists the threads of pid that tracer does not hold (TracerPid in
// /proc/PID/task/TID/status).
func notTraced(pid, tracer int) ([]int, error) {
	threads, err := procfs.AllThreads(pid)
	if err != nil {
		return nil, fmt.Errorf("list the threads of pid %d: %w", pid, err)
	}
	want := fmt.Sprintf("TracerPid:\t%d\n", tracer)
	var free []int
	for _, th := range threads {
		status, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/status", pid, th.PID))
		if errors.Is(err, os.ErrNotExist) {
			continue // it has ended since
		}
		if err != nil {
			return nil, fmt.Errorf("read the tracer of thread %d: %w", th.PID, err)
		}
		if strings.Contains(string(status), "\nState:\tZ") {
			continue // ended, and not reaped yet
		}
		if !strings.Contains(string(status), want) {
			free = append(free, th.PID)
		}
	}
	return free, nil
}
