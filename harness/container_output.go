package harness

import (
	"fmt"
	"slices"

	"github.com/shimquake/shimquake/spelling"
)

// Log is the target to which a shim itself writes a task's output, at its client's
// request.
type Log string

// The targets.
const (
	LogFile   Log = "file"   // a file that already has a line
	LogBinary Log = "binary" // the input of a program that the shim runs: a logger
)

// LogFileLines is a number of lines below 4 KiB, which a shim copies at once.
const LogFileLines = 150

// UnreadLines is a number of lines, some 134 kB, with which the shim blocks and the
// payload does not. A FIFO (64 KiB), a shim (4 or 32 KiB) and one read of a client (up to
// 32 KiB) hold less. Together with the pipe in front of the shim (64 KiB) they hold more.
const UnreadLines = 5000

// checkUnread returns an error if Unread does not fit the other keys.
func (c Container) checkUnread(w Workload) error {
	if c.Unread && (w.API == CRI || c.Lines == 0 || c.Lines > UnreadLines || c.TTY || c.Log != "" ||
		len(c.Execs) > 0 || c.Stdin > 0 || w.CallTimeout < 2*IODrain) {
		return fmt.Errorf("unread: by the task API, of at most %d lines, and its Delete takes %s: leave out api: cri, "+
			"tty, log, execs and stdin, add callTimeout: %s",
			UnreadLines, IODrain, 2*IODrain)
	}
	return nil
}

// checkLog returns an error if Log does not fit the other keys.
func (c Container) checkLog(i int) error {
	known := []string{string(LogFile), string(LogBinary)}
	switch {
	case c.Log == "":
		return nil
	case !slices.Contains(known, string(c.Log)):
		return spelling.Unknown("log", string(c.Log), known)
	case c.Lines == 0 || c.TTY || c.Log == LogFile && c.Lines > LogFileLines:
		return fmt.Errorf("containers[%d]: log: it needs lines (at most %d for file) and no tty", i, LogFileLines)
	}
	return nil
}
