package client

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"github.com/shimquake/shimquake/foreign"
	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/poll"
)

// inputFile is the suffix of the file to which a payload copies its standard input.
const inputFile = ".in"

const (
	// inputTimeout is how long a payload may take to read all of its input, or the end of
	// it. It takes some 100 ms, and longer on a loaded machine.
	inputTimeout = 10 * time.Second
	// openFor is how long the client waits between the two parts of an input. The FIFO then
	// has no writer, but the payload must not see the end of its input.
	openFor = 30 * time.Millisecond
	// parts says that the first part of an input is a quarter of it. The rest does not fit
	// into the buffers between the client and the payload.
	parts = 4
)

// inputLines returns n lines, numbered from after+1, in the format in which a payload
// writes lines to its standard output.
func inputLines(after, n int, now time.Time) (text []byte) {
	for i := range n {
		text = append(strconv.AppendInt(text, int64(after+i+1), 10), ofStdout...)
		text = append(strconv.AppendInt(text, now.UnixNano(), 10), '\n')
	}
	return text
}

// Feeder writes an input to a process.
type Feeder struct {
	Record string
	Write  func(ctx context.Context, text []byte) (int, error)
	// Alive reports whether the process still runs. If not, the client writes no more.
	Alive func() bool
}

// ToFIFO returns a Feeder that writes to the FIFO with this path, which must be in the
// folder fifos.
func ToFIFO(fifos *foreign.Dir, fifo, record string, alive func() bool) Feeder {
	return Feeder{Record: record, Alive: alive, Write: func(ctx context.Context, text []byte) (int, error) {
		return writeTo(ctx, fifos, fifo, text, alive)
	}}
}

// Feed writes the lines of an input in two parts, as two clients that attach one after
// the other. It writes the second part after the process has read the first.
func (s *Session) Feed(ctx context.Context, in *harness.Input, to Feeder) {
	text := inputLines(0, in.Lines, time.Now())
	cut := 1 + bytes.IndexByte(text[len(text)/parts:], '\n') + len(text)/parts
	in.Timeout = inputTimeout
	n, err := to.Write(ctx, text[:cut])
	read := err == nil && s.awaitRead(ctx, to.Record, cut, to.Alive)
	if read && cut < len(text) {
		select {
		case <-time.After(openFor): // so that a premature end of the input can show
		case <-ctx.Done():
		}
	}
	if err == nil && cut < len(text) {
		var more int
		more, err = to.Write(ctx, text[cut:])
		n += more
	}
	in.Wrote = bytes.Count(text[:n], []byte{'\n'})
	if err != nil {
		s.Record.Failed("client", "could not write the whole standard input of "+to.Record, err)
	}
}

// FeedMore writes some more lines, and waits until the process has read them. taken is
// the number of bytes that were written before. FeedMore returns the new total.
func (s *Session) FeedMore(ctx context.Context, in *harness.Input, to Feeder, lines, taken int) int {
	text := inputLines(in.Lines, lines, time.Now())
	in.Lines += lines
	in.Timeout = inputTimeout
	n, err := to.Write(ctx, text)
	in.Wrote += bytes.Count(text[:n], []byte{'\n'})
	if err != nil {
		s.Record.Failed("client", "could not write the whole standard input of "+to.Record, err)
	} else {
		s.awaitRead(ctx, to.Record, taken+n, to.Alive)
	}
	return taken + n
}

// awaitRead waits until the process has read that many bytes, and reports whether it has.
func (s *Session) awaitRead(ctx context.Context, record string, bytes int, alive func() bool) bool {
	read := func() bool {
		info, err := s.Truth.Describe(record + inputFile)
		return err == nil && info.Size() >= int64(bytes)
	}
	awaitInput(ctx, inputTimeout, func() bool { return read() || !alive() })
	return read()
}

// AwaitEOF waits until a process has read the end of its input, or has exited. It reports
// whether that happened before the timeout. It checks at least once.
func (s *Session) AwaitEOF(ctx context.Context, record string, timeout time.Duration, alive func() bool) bool {
	over := func() bool {
		own, err := s.Payload(record)
		return err == nil && (!own.EOFAt.IsZero() || own.Exited) || !alive()
	}
	awaitInput(ctx, timeout, over)
	return over()
}

func awaitInput(ctx context.Context, timeout time.Duration, is func() bool) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	_ = poll.Until(ctx, lookEvery, func() (bool, error) { return is(), nil }) // the judge reports a timeout
}

// InputRead returns the process's own copy of its input.
func (s *Session) InputRead(record string) harness.Output {
	text, err := s.Truth.Read(record+inputFile, MaxOutput)
	if err != nil && !errors.Is(err, os.ErrNotExist) { // there is no file if the process never ran
		s.Record.Problem(harness.ByHarness, err)
	}
	return readLines(string(text), ofStdout)
}

// writeTo waits until the shim has opened a FIFO for reading, writes to it, and closes
// it. It returns the number of bytes written.
func writeTo(ctx context.Context, fifos *foreign.Dir, fifo string, text []byte, alive func() bool) (n int, err error) {
	name, err := filepath.Rel(fifos.Name(), fifo)
	if err != nil {
		return 0, err
	}
	ctx, cancel := context.WithTimeout(ctx, inputTimeout)
	defer cancel()
	var f *os.File
	if err := poll.Until(ctx, lookEvery, func() (bool, error) {
		f, err = fifos.OpenFIFO(name, os.O_WRONLY)
		if errors.Is(err, unix.ENXIO) && alive() { // the shim has not opened it yet
			return false, nil
		}
		return err == nil, err
	}); err != nil {
		return 0, err
	}
	until, _ := ctx.Deadline()
	err = f.SetWriteDeadline(until)
	if err == nil {
		n, err = f.Write(text)
	}
	return n, errors.Join(err, f.Close())
}
