package signal

import (
	"errors"
	"fmt"
	"os"

	"github.com/prometheus/procfs"
	"golang.org/x/sys/unix"
)

// Identity identifies one process for good. The kernel reuses a pid alone, but never the
// pair of pid and start time.
type Identity struct {
	// PID is the pid in the namespace of this process, also if the process is in an inner
	// namespace.
	PID int `json:"pid"`
	// Start is field 22 of /proc/PID/stat: clock ticks since boot (proc_pid_stat(5)).
	Start uint64 `json:"start"`
}

// String returns "pid 41 (started at tick 1234)".
func (id Identity) String() string {
	return fmt.Sprintf("pid %d (started at tick %d)", id.PID, id.Start)
}

// ErrGone reports that the process has ended and was reaped, or that its pid now belongs
// to another process. Nothing was signalled.
var ErrGone = errors.New("the process is gone")

// Identify reads the start time of pid from /proc. It returns ErrGone if there is no such
// process. A zombie is still a process and can be identified.
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

// identifyError returns ErrGone if an error of /proc means a missing process. The errors
// are a missing directory, and ESRCH from a file that was opened just before the end.
func identifyError(pid int, err error) error {
	if errors.Is(err, os.ErrNotExist) || errors.Is(err, unix.ESRCH) {
		return fmt.Errorf("identify pid %d: %w", pid, ErrGone)
	}
	return fmt.Errorf("identify pid %d: %w", pid, err)
}
