// Package slowsys injects the fault "this system call of this process is slow", by
// strace's delay_enter: the exact and quick twin of real IO pressure
// (failpoints/iopressure), for when the length of the delay matters.
//
// The delay is before the call, in every thread of the process and of its later
// children, every time. There is no "only the k-th call": strace's when= counts per
// thread, and a Go process makes its calls on any thread.
//
// Being traced slows every system call of the process down, not only the delayed one.
package slowsys

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"time"

	"github.com/shimquake/shimquake/child"
)

// ErrNoStrace says that strace cannot be found.
var ErrNoStrace = errors.New("strace is missing: install it (apt-get install strace)")

// ErrNotAttached says that strace could not attach: no such process, no permission
// (CAP_SYS_PTRACE), or another tracer holds it. The text tells which.
var ErrNotAttached = errors.New("strace did not attach")

// ErrLost says that strace ended, by a signal or with an error, before it was told to.
// Later calls were not delayed, and neither was the rest of one within its delay.
var ErrLost = errors.New("strace ended too early")

// Params says which call of which process to delay, and by how much.
type Params struct {
	// Strace is the program's path; empty means that of $PATH.
	Strace string
	// PID as this process sees it. strace may stand outside of the process's PID
	// and mount namespaces: a tracer needs the tracee's pid, nothing of its world.
	PID int
	// Syscall is the call's name as strace knows it on this architecture: umount2.
	Syscall string
	// Delay before the call, at least a microsecond.
	Delay time.Duration
	// Log opens a file for strace's own output, kept as evidence; nil means none.
	Log func() (io.WriteCloser, error)
	// Start starts the prepared command; nil means (*exec.Cmd).Start. It may add
	// to the command (SysProcAttr, a cgroup) but must start strace itself as the
	// direct child, since Detach signals that child.
	Start func(*exec.Cmd) error
}

// Available reports whether this machine has what Attach needs; if not, it returns
// ErrNoStrace.
func Available() error {
	_, err := find("strace")
	return err
}

func find(name string) (string, error) {
	path, err := exec.LookPath(name)
	if err != nil {
		return "", fmt.Errorf("%w (%w)", ErrNoStrace, err)
	}
	return path, nil
}

var syscallName = regexp.MustCompile(`^[a-z][a-z0-9_]*$`)

// check refuses what strace would misread. A syscall such as "umount2:error=EIO"
// would be another fault than the one that was planned.
func (p *Params) check() error {
	switch {
	case p.PID <= 0:
		return fmt.Errorf("pid %d: want the pid of a running process", p.PID)
	case !syscallName.MatchString(p.Syscall):
		return fmt.Errorf("syscall %q: want one name as strace writes it, such as umount2", p.Syscall)
	case p.Delay < time.Microsecond:
		return fmt.Errorf("delay %v: want at least 1µs", p.Delay)
	}
	return nil
}

// command prepares strace. Its trace goes to fd 3, a pipe, so that what happens is
// known when it happens; -a 1 switches off the padding before "=", and signals are
// left out because Go preempts by them all the time.
func (p *Params) command(trace, stderr *os.File) (*exec.Cmd, error) {
	name := p.Strace
	if name == "" {
		name = "strace"
	}
	path, err := find(name)
	if err != nil {
		return nil, err
	}
	cmd := child.Command(context.Background(), path, // Attach and Detach end it
		"-f", "-y", "-T", "-ttt", "-a", "1",
		"-e", "signal=none",
		"-e", "trace="+p.Syscall,
		"-e", "inject="+p.Syscall+":delay_enter="+strconv.FormatInt(p.Delay.Microseconds(), 10),
		"-o", "/proc/self/fd/3",
		"-p", strconv.Itoa(p.PID))
	cmd.Env = append(os.Environ(), "LC_ALL=C") // "attached" is read below
	cmd.ExtraFiles = []*os.File{trace}
	cmd.Stderr = stderr
	return cmd, nil
}
