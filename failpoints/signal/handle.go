// Package signal injects the fault "this process was killed, stopped or continued",
// and proves that it happened.
//
// A Handle holds its process by a pidfd (pidfd_open(2), Linux 5.3), so its signals never
// reach another process. The start time shows whether the pid was reused before the pidfd
// was opened. The kernel makes a pidfd readable when the whole process has ended, before
// its parent reaps it: that proves the exit.
package signal

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// Handle holds one process. Several goroutines may use it until it is closed.
type Handle struct {
	id Identity
	fd int // -1 when closed
}

// OpenSame holds the process that the caller identified earlier. It returns ErrGone if
// that process has been reaped, even if its pid is in use again.
func OpenSame(id Identity) (*Handle, error) {
	fd, err := unix.PidfdOpen(id.PID, 0)
	if errors.Is(err, unix.ESRCH) {
		return nil, fmt.Errorf("open %v: %w", id, ErrGone)
	}
	if err != nil {
		return nil, fmt.Errorf("open %v: %w", id, os.NewSyscallError("pidfd_open", err))
	}
	h := &Handle{id: id, fd: fd}

	// The order matters: with an open pidfd, /proc describes the held process, or a later
	// one with another start time.
	now, err := Identify(id.PID)
	if err == nil && now != id {
		err = fmt.Errorf("open %v: pid is now of a process started at tick %d: %w", id, now.Start, ErrGone)
	}
	if err != nil {
		return nil, errors.Join(err, h.Close())
	}
	return h, nil
}

// Signal sends sig to the process. It returns ErrGone if the process has been reaped; a
// signal to a zombie succeeds and has no effect.
func (h *Handle) Signal(sig unix.Signal) error {
	err := unix.PidfdSendSignal(h.fd, sig, nil, 0)
	if errors.Is(err, unix.ESRCH) {
		return fmt.Errorf("send %v to %v: %w", sig, h.id, ErrGone)
	}
	if err != nil {
		return fmt.Errorf("send %v to %v: %w", sig, h.id, os.NewSyscallError("pidfd_send_signal", err))
	}
	return nil
}

// Term sends SIGTERM; use Wait to see whether the process ends.
func (h *Handle) Term() error { return h.Signal(unix.SIGTERM) }

// Kill sends SIGKILL, and waits until the process has ended. A thread in an
// uninterruptible system call (a slow umount2) ends only when the call returns, so ctx
// limits how long Kill waits. Kill returns ErrGone if the process was a zombie or had
// gone already: the fault did not fire.
func (h *Handle) Kill(ctx context.Context) error {
	over, err := h.hasEnded(0)
	if err != nil {
		return err
	}
	if over {
		return fmt.Errorf("kill %v: it had ended before: %w", h.id, ErrGone)
	}
	if err := h.Signal(unix.SIGKILL); err != nil {
		return err
	}
	return h.Wait(ctx)
}

// Wait returns when every thread of the process has ended, or with the cause of ctx, at
// most waitSlice later. Wait reaps nothing: the zombie stays for its parent.
func (h *Handle) Wait(ctx context.Context) error {
	for {
		if over, err := h.hasEnded(waitSlice); over || err != nil {
			return err
		}
		if ctx.Err() != nil {
			return fmt.Errorf("wait for %v, which has not ended: %w", h.id, context.Cause(ctx))
		}
	}
}

// waitSlice is the longest time of one poll(2), which does not see the end of a context.
const waitSlice = 20 * time.Millisecond

// hasEnded polls the pidfd for its one event, the end of the process.
func (h *Handle) hasEnded(within time.Duration) (bool, error) {
	fds := []unix.PollFd{{Fd: int32(h.fd), Events: unix.POLLIN}}
	n, err := unix.Poll(fds, int(within.Milliseconds()))
	if err != nil && !errors.Is(err, unix.EINTR) {
		return false, fmt.Errorf("look at %v: %w", h.id, os.NewSyscallError("poll", err))
	}
	return n > 0, nil
}

// Close closes the pidfd and leaves the process alone. A second Close does nothing.
func (h *Handle) Close() error {
	if h.fd < 0 {
		return nil
	}
	fd := h.fd
	h.fd = -1
	if err := unix.Close(fd); err != nil {
		return fmt.Errorf("let go of %v: %w", h.id, os.NewSyscallError("close", err))
	}
	return nil
}
