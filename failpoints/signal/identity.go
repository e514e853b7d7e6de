package signal

import (
	"errors"
	"fmt"
	"os"

	"github.com/prometheus/procfs"
	"golang.org/x/sys/unix"
)

// Identity names one process for good. A pid alone does not: the kernel hands it
// out again. The pair of pid and start time is never used twice.
type Identity struct {
	// PID as this process sees it (a pid of an outer namespace, when the process
	// lives in an inner one).
	PID int `json:"pid"`
	// Start is field 22 of /proc/PID/stat: clock ticks since boot (proc_pid_stat(5)).
	Start uint64 `json:"start"`
}

// String is "pid 41 (started at tick 1234)".
func (id Identity) String() string {
	return fmt.Sprintf("pid %d (started at tick %d)", id.PID, id.Start)
}

// ErrGone says that the process has ended and was reaped, or that its pid now
// belongs to another process. Nothing was signalled.
var ErrGone = errors.New("the process is gone")

// Identify reads the start time of pid from /proc. It returns ErrGone when no such
// process exists. A zombie is still a process and can be identified.
func Identify(pid int) (Identity, error) {
	p, err := procfs.NewProc(pid)
	if err != nil {
		return Identity{}, identifyError(pid, err)
	}
	st, err := p.Stat()
	if err != nil {
		return Identity{}, identifyError(pid, err)
	}
	return Identity{PID: pid, Start: st.Starttime}, nil
}

// identifyError turns the two ways in which /proc tells of a missing process (no
// directory; ESRCH from a file opened just before the end) into ErrGone.
func identifyError(pid int, err error) error {
	if errors.Is(err, os.ErrNotExist) || errors.Is(err, unix.ESRCH) {
		return fmt.Errorf("identify pid %d: %w", pid, ErrGone)
	}
	return fmt.Errorf("identify pid %d: %w", pid, err)
}
