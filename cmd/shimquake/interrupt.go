package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"sync/atomic"

	"golang.org/x/sys/unix"
)

// errInterrupted is the cause of a context that a signal has ended.
var errInterrupted = errors.New("interrupted")

// untilSignal returns a context that the first SIGINT, SIGTERM or SIGHUP ends, and a
// function that ends it, too. Then a command cleans up and says how far it came. The
// second signal ends this program at once, with the status that a shell gives it. Then
// the kernel ends the worlds, and the next run undoes the rest.
func untilSignal(parent context.Context, w io.Writer) (context.Context, context.CancelCauseFunc) {
	ctx, cancel := context.WithCancelCause(parent)
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, unix.SIGINT, unix.SIGTERM)
	if !signal.Ignored(unix.SIGHUP) { // a program in the background
		signal.Notify(signals, unix.SIGHUP) // the end of a session by ssh
	}
	go func() {
		first := <-signals
		cancel(fmt.Errorf("%w by %v", errInterrupted, first))
		// Beside, because a full pipe must not keep the second signal from being heard.
		go fmt.Fprintln(w, "shimquake: interrupted: cleaning up; a second signal ends it at once")
		second, _ := (<-signals).(unix.Signal)
		os.Exit(128 + int(second))
	}()
	return ctx, cancel
}

// output is standard output. A write whose reader has gone (shimquake run ... | head -1)
// ends the command as a signal does.
type output struct {
	file     *os.File
	end      context.CancelCauseFunc
	isBroken atomic.Bool
}

// newOutput returns an output whose broken pipe calls end.
func newOutput(file *os.File, end context.CancelCauseFunc) *output {
	// The Go runtime ends a program by SIGPIPE that does not take the signal. Ignored, it
	// would be so for all programs of a world, too. Sockets have it sent as well, so it
	// says nothing.
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

// Fd is the descriptor, to ask whether it is a terminal.
func (o *output) Fd() uintptr { return o.file.Fd() }

// interrupted returns the error with which a command ends that a signal has ended: it
// shows nothing, unless it is violated. Another command's error is returned as it is.
func interrupted(ctx context.Context, err error) error {
	var status statusError
	if err == nil || ctx.Err() == nil || errors.As(err, &status) && status.status != statusUsage {
		return err
	}
	if errors.Is(err, context.Canceled) { // its text says no more
		err = errors.New("interrupted: the command is not complete")
	}
	return statusError{statusInvalid, err}
}
