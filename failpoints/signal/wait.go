package signal

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// Wait returns when every thread of the process has ended, or with the cause of ctx. The
// returned time is some milliseconds after the end. Wait reaps nothing: the zombie stays
// for its parent.
func (h *Handle) Wait(ctx context.Context) (time.Time, error) {
	f, err := h.dup()
	if err != nil {
		return time.Time{}, err
	}
	defer func() { _ = f.Close() }() // a duplicate, and nothing was written to it

	// A read deadline in the past interrupts the runtime's poller, so waiting costs no
	// thread and no timer. The duplicate fd keeps the deadline of one wait from ending
	// another.
	stop := context.AfterFunc(ctx, func() { _ = f.SetReadDeadline(time.Unix(1, 0)) })
	defer stop()

	raw, err := f.SyscallConn()
	if err != nil {
		return time.Time{}, fmt.Errorf("wait for %v: %w", h.id, err)
	}
	var pollErr error
	err = raw.Read(func(fd uintptr) bool {
		var over bool
		over, pollErr = readable(int(fd))
		return over || pollErr != nil
	})
	switch {
	case pollErr != nil:
		return time.Time{}, fmt.Errorf("wait for %v: %w", h.id, pollErr)
	case errors.Is(err, os.ErrDeadlineExceeded):
		return time.Time{}, fmt.Errorf("wait for %v, which has not ended: %w", h.id, context.Cause(ctx))
	case err != nil:
		return time.Time{}, fmt.Errorf("wait for %v: %w", h.id, err)
	}
	return time.Now(), nil
}

// HasEnded reports whether the process has ended, without waiting.
func (h *Handle) HasEnded() (bool, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.fd < 0 {
		return false, fmt.Errorf("look at %v: %w", h.id, os.ErrClosed)
	}
	over, err := readable(h.fd)
	if err != nil {
		return false, fmt.Errorf("look at %v: %w", h.id, err)
	}
	return over, nil
}

// dup returns a second fd of the same pidfd that the runtime's poller knows.
func (h *Handle) dup() (*os.File, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.fd < 0 {
		return nil, fmt.Errorf("wait for %v: %w", h.id, os.ErrClosed)
	}
	fd, err := unix.FcntlInt(uintptr(h.fd), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("wait for %v: %w", h.id, os.NewSyscallError("fcntl", err))
	}
	// The pidfd is non-blocking, so that os.NewFile gives it to the poller.
	return os.NewFile(uintptr(fd), fmt.Sprintf("pidfd of %v", h.id)), nil
}

// readable polls a pidfd for its one event, the end of the process, without waiting.
func readable(fd int) (bool, error) {
	fds := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
	for {
		n, err := unix.Poll(fds, 0)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil {
			return false, os.NewSyscallError("poll", err)
		}
		return n > 0, nil
	}
}
