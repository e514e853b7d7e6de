// Package slowsys injects the fault "this system call of this process is slow" by
// strace's delay_enter. It is the exact and quick counterpart of real IO pressure
// (failpoints/iopressure), for cases in which the length of the delay matters.
//
// Every such call is delayed at its entry, in every thread of the process and of its
// later children. The package cannot delay the k-th call only: strace's when= counts per
// thread, and a Go process makes its calls on any thread.
//
// Tracing slows down every system call of the process, not only the delayed one.
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

// ErrNoStrace reports that strace cannot be found.
var ErrNoStrace = errors.New("strace is missing: install it (apt-get install strace)")

// ErrNotAttached reports that strace could not attach: no such process, no permission
// (CAP_SYS_PTRACE), or another tracer holds the process. The text gives the reason.
var ErrNotAttached = errors.New("strace did not attach")

// ErrLost reports that strace ended by a signal or with an error before Detach. Later
// calls were not delayed, and neither was the rest of a call within its delay.
var ErrLost = errors.New("strace ended too early")

// Params names the process, the system call to delay, and the delay.
type Params struct {
	// PID is the pid in the namespace of this process. strace may run outside the PID and
	// mount namespaces of the process: a tracer needs only the pid.
	PID int
	// Syscall is strace's name of the call on this architecture: umount2.
	Syscall string
	// Delay is the time before the call, at least a microsecond.
	Delay time.Duration
	// Log opens a file for strace's output, which is kept as evidence; nil: it is not
	// kept.
	Log func() (io.WriteCloser, error)
}

// Available returns ErrNoStrace if this machine has no strace.
func Available() error {
	_, err := find()
	return err
}

func find() (string, error) {
	path, err := exec.LookPath("strace")
	if err != nil {
		return "", fmt.Errorf("%w (%w)", ErrNoStrace, err)
	}
	return path, nil
}

var syscallName = regexp.MustCompile(`^[a-z][a-z0-9_]*$`)

// check rejects values that strace would misread. A syscall such as "umount2:error=EIO"
// would be another fault than the planned one.
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

// command prepares strace. Its trace goes to its standard output, a pipe, so that each
// call is known when it happens. -a 1 switches off the padding before "=". Signals are
// left out because Go uses them all the time for preemption.
func (p *Params) command() (*exec.Cmd, error) {
	path, err := find()
	if err != nil {
		return nil, err
	}
	cmd := child.Command(context.Background(), path, // ended by Attach or Detach
		"-f", "-y", "-T", "-ttt", "-a", "1",
		"-e", "signal=none",
		"-e", "trace="+p.Syscall,
		"-e", "inject="+p.Syscall+":delay_enter="+strconv.FormatInt(p.Delay.Microseconds(), 10),
		"-o", "/proc/self/fd/1",
		"-p", strconv.Itoa(p.PID))
	cmd.Env = append(os.Environ(), "LC_ALL=C") // say looks for "attached"
	return cmd, nil
}
