package harness

import (
	"fmt"
	"slices"

	"github.com/shimquake/shimquake/spelling"
)

// LogTarget is where the shim itself writes a task's output. The client names the target
// when it creates the task.
type LogTarget string

// The targets.
const (
	LogFile   LogTarget = "file"   // a file that already has a line
	LogBinary LogTarget = "binary" // the input of a program that the shim runs: a logger
)

// LogFileLines is a number of lines with less than 4 KiB, so that a shim copies them with
// one write.
const LogFileLines = 150

// UnreadLines is the largest number of unread lines, some 134 kB. They block the shim: a
// FIFO (64 KiB), the shim (4 or 32 KiB) and one read of the client (32 KiB) hold less.
// They do not block the payload, because the pipe between payload and shim holds another
// 64 KiB.
const UnreadLines = 5000

// checkUnread returns an error if Unread does not fit the other keys.
func (c Container) checkUnread(w Workload) error {
	if c.Unread && (w.API == CRI || c.Lines == 0 || c.Lines > UnreadLines || c.TTY || c.Log != "" ||
		len(c.Execs) > 0 || c.Stdin > 0 || w.CallTimeout < 2*IODrain) {
		return fmt.Errorf("unread: use the task API and 1 to %d lines; the delete takes %s: remove api: cri, "+
			"tty, log, execs and stdin, and add callTimeout: %s",
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
		return fmt.Errorf("containers[%d]: log: add lines (at most %d for log: file), and remove tty", i, LogFileLines)
	}
	return nil
}
