package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// errInterrupted is the cause if a signal or a broken pipe cancels a context.
var errInterrupted = errors.New("interrupted")

// atOnce is the time in which several signals are one. timeout(1) signals its command,
// and then the command's process group.
const atOnce = 100 * time.Millisecond

// untilSignal returns a context that the first SIGINT, SIGTERM or SIGHUP cancels, and its
// cancel function. The command then cleans up and reports its progress. A signal more
// than atOnce later kills this program. The kernel then ends the worlds, and the next run
// removes the other remains.
func untilSignal(parent context.Context, w io.Writer) (context.Context, context.CancelCauseFunc) {
	ctx, cancel := context.WithCancelCause(parent)
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, unix.SIGINT, unix.SIGTERM)
	if !signal.Ignored(unix.SIGHUP) { // `nohup` makes it ignored
		signal.Notify(signals, unix.SIGHUP) // an ssh session has ended
	}
	go func() {
		first := <-signals
		cancel(fmt.Errorf("%w by %v", errInterrupted, first))
		for rest := time.After(atOnce); rest != nil; {
			select {
			case <-signals:
			case <-rest:
				rest = nil
			}
		}
		// A goroutine, because a full pipe must not delay the handling of the second signal.
		go fmt.Fprintln(w, "shimquake: interrupted: cleaning up; a second signal ends it at once")
		second, _ := (<-signals).(unix.Signal)
		os.Exit(128 + int(second))
	}()
	return ctx, cancel
}

// output is standard output. If its reader has exited (shimquake run ... | head -1), a
// write cancels the command as a signal does.
type output struct {
	file     *os.File
	end      context.CancelCauseFunc
	isBroken atomic.Bool
}

// newOutput returns an output that calls end for a broken pipe.
func newOutput(file *os.File, end context.CancelCauseFunc) *output {
	// Without this line, the Go runtime kills the program by SIGPIPE. The programs of a
	// world would inherit an ignored signal, so it is not ignored. The received signals are
	// dropped, because broken sockets cause them, too.
	signal.Notify(make(chan os.Signal, 1), unix.SIGPIPE)
	return &output{file: file, end: end}
}

func (o *output) Write(p []byte) (int, error) {
	n, err := o.file.Write(p)
	if errors.Is(err, unix.EPIPE) {
		o.isBroken.Store(true)
		o.end(fmt.Errorf("%w by a broken pipe", errInterrupted))
	}
	return n, err
}

// Fd returns the descriptor, to check whether it is a terminal.
func (o *output) Fd() uintptr { return o.file.Fd() }

// interrupted returns the error of a command after a signal. The status is invalid unless
// the command has found a violation. Without a signal, it returns err.
func interrupted(ctx context.Context, err error) error {
	status, is := errors.AsType[statusError](err)
	if err == nil || ctx.Err() == nil || is && status.status != statusUsage {
		return err
	}
	if errors.Is(err, context.Canceled) { // its own text does not help the user
		err = errors.New("interrupted: the command is not complete")
	}
	return statusError{statusInvalid, err}
}
