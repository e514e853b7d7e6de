package signal

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/prometheus/procfs"
	"golang.org/x/sys/unix"
)

// pollInterval is the time between two reads of the threads' states. /proc announces no
// change, and only a parent or tracer is notified of a stop.
const pollInterval = 2 * time.Millisecond

// Stop sends SIGSTOP and waits until every thread of the process is stopped. A thread in
// an uninterruptible wait stops only afterwards, so ctx bounds the wait. Stop returns
// ErrGone if the process ends meanwhile.
func (h *Handle) Stop(ctx context.Context) error {
	if err := h.Signal(unix.SIGSTOP); err != nil {
		return err
	}
	return h.await(ctx, "stop", threads.still)
}

// Cont sends SIGCONT and waits until no thread of the process is stopped any more. It
// returns ErrGone if the process ends meanwhile.
func (h *Handle) Cont(ctx context.Context) error {
	if err := h.Signal(unix.SIGCONT); err != nil {
		return err
	}
	return h.await(ctx, "continue", threads.running)
}

func (h *Handle) await(ctx context.Context, what string, reached func(threads) bool) error {
	tick := time.Tick(pollInterval)
	for {
		n, err := h.count()
		if err != nil {
			return fmt.Errorf("%s %v: %w", what, h.id, err)
		}
		if reached(n) {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%s %v: of %d threads %d are stopped: %w",
				what, h.id, n.all, n.stopped+n.traced, context.Cause(ctx))
		case <-tick:
		}
	}
}

// threads counts the threads of a process that have not ended.
type threads struct {
	all     int
	stopped int // state T: stopped by a signal
	traced  int // state t: stopped by a tracer (strace), or by a signal while traced
}

func (n threads) still() bool   { return n.stopped+n.traced == n.all }
func (n threads) running() bool { return n.stopped == 0 }

// count reads the state of every thread. It returns ErrGone if the process has ended.
func (h *Handle) count() (threads, error) {
	var n threads
	procs, err := procfs.AllThreads(h.id.PID)
	for _, p := range procs {
		st, statErr := p.Stat()
		if errors.Is(statErr, os.ErrNotExist) || errors.Is(statErr, unix.ESRCH) {
			continue // ended since it was listed
		}
		if statErr != nil {
			err = statErr
			break
		}
		switch st.State {
		case "Z", "X":
			continue
		case "T":
			n.stopped++
		case "t":
			n.traced++
		}
		n.all++
	}
	// Checked last: the process is still there, so /proc/PID was its own and no
	// successor's.
	over, endErr := h.hasEnded(0)
	if over {
		return threads{}, ErrGone
	}
	return n, errors.Join(err, endErr)
}
