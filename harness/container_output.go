package harness

import (
	"fmt"
	"slices"

	"github.com/shimquake/shimquake/spelling"
)

// Log is where a task's shim writes outputs itself, as its client has asked it to.
type Log string

// Where to.
const (
	LogFile   Log = "file"   // a file, which has had a line before
	LogBinary Log = "binary" // the input of a program that the shim runs: a logger
)

// LogFileLines have less than 4 KiB, which a shim copies at once.
const LogFileLines = 150

// UnreadLines are 134 kB: more than a FIFO (64 KiB), a shim (4 or 32 KiB) and one read of
// a client (up to 32 KiB) hold, so that the shim waits, and fewer than with a pipe (64
// KiB) before it: the payload can write all.
const UnreadLines = 5000

// checkUnread reports what nobody can leave unread.
func (c Container) checkUnread(w Workload) error {
	if c.Unread && (w.API == CRI || c.Lines == 0 || c.Lines > UnreadLines || c.TTY || c.Log != "" ||
		len(c.Execs) > 0 || c.Stdin > 0 || w.CallTimeout < 2*IODrain) {
		return fmt.Errorf("unread: by the task API, of at most %d lines, and its Delete takes %s: leave out api: cri, "+
			"tty, log, execs and stdin, add callTimeout: %s",
			UnreadLines, IODrain, 2*IODrain)
	}
	return nil
}

// checkLog reports what a shim cannot write itself.
func (c Container) checkLog(i int) error {
	known := []string{string(LogFile), string(LogBinary)}
	switch {
	case c.Log == "":
		return nil
	case !slices.Contains(known, string(c.Log)):
		return spelling.Unknown("log", string(c.Log), known)
	case c.Lines == 0 || c.TTY || c.Log == LogFile && c.Lines > LogFileLines:
		return fmt.Errorf("containers[%d]: log: it needs lines, of file at most %d, and no tty", i, LogFileLines)
	}
	return nil
}
