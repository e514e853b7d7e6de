package slowsys

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"

	"github.com/prometheus/procfs"
)

// trace is the output of strace so far, parsed while it is written.
type trace struct {
	mu     sync.Mutex
	parser *parser
	tail   string // the unfinished line
	began  chan struct{}
	log    io.WriteCloser
	logErr error
}

func newTrace(p Params) (*trace, error) {
	t := &trace{parser: newParser(p.Syscall), began: make(chan struct{})}
	if p.Log == nil {
		return t, nil
	}
	log, err := p.Log()
	if err != nil {
		return nil, fmt.Errorf("keep strace's log: %w", err)
	}
	t.log = log
	return t, nil
}

// read reads strace's output to its end, and calls killed each time a thread ended within
// the delayed call.
func (t *trace) read(f *os.File, killed func()) {
	defer func() { _ = f.Close() }()
	buf := make([]byte, 4096)
	for {
		n, err := f.Read(buf)
		if n > 0 && t.take(buf[:n]) {
			killed()
		}
		if err != nil {
			return // strace has ended and closed the pipe
		}
	}
}

func (t *trace) take(b []byte) (killed bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.log != nil {
		_, err := t.log.Write(b)
		t.logErr = errors.Join(t.logErr, err)
	}
	lines := strings.Split(t.tail+string(b), "\n")
	t.tail = lines[len(lines)-1]
	for _, line := range lines[:len(lines)-1] {
		if c, ok := t.parser.line(line); ok {
			t.begin()
			killed = killed || c.Killed
		}
	}
	// strace writes a call's arguments, then delays it, then ends the line.
	if _, ok := newParser(t.parser.syscall).line(t.tail); ok {
		t.begin()
	}
	return killed
}

func (t *trace) begin() {
	select {
	case <-t.began:
	default:
		close(t.began)
	}
}

func (t *trace) calls() []Call {
	t.mu.Lock()
	defer t.mu.Unlock()
	calls := slices.Clone(t.parser.calls)
	if c, ok := newParser(t.parser.syscall).line(t.tail); ok {
		calls = append(calls, c)
	}
	return calls
}

func (t *trace) close() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.log == nil {
		return nil
	}
	err := errors.Join(t.logErr, t.log.Close())
	t.log = nil
	if err != nil {
		return fmt.Errorf("keep strace's log: %w", err)
	}
	return nil
}

// readStderr keeps strace's messages and notes when it reports that it is attached:
// "strace: Process 41 attached with 5 threads".
func (in *Injection) readStderr(f *os.File) {
	defer func() { _ = f.Close() }()
	want := fmt.Sprintf(": Process %d attached", in.params.PID)
	said := false
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		in.stderrMu.Lock()
		in.stderr.WriteString(lines.Text() + "\n")
		in.stderrMu.Unlock()
		if !said && strings.Contains(lines.Text(), want) {
			said = true
			close(in.attached)
		}
	}
}

func (in *Injection) said() string {
	in.stderrMu.Lock()
	defer in.stderrMu.Unlock()
	return strings.TrimSpace(in.stderr.String())
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
