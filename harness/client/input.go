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
	// inputTimeout is the time in which a payload must read all of its input, or see its
	// end, on a loaded machine. It needs some 100 ms.
	inputTimeout = 10 * time.Second
	// openFor is how long the client checks that an input without a writer stays open.
	openFor = 30 * time.Millisecond
	// parts divides an input: the first part is a quarter. The rest is more than the buffers
	// between the client and the payload hold.
	parts = 4
)

// inputLines returns n lines, numbered from behind+1, as a payload writes them to its
// standard output.
func inputLines(behind, n int, now time.Time) (text []byte) {
	for i := range n {
		text = append(strconv.AppendInt(text, int64(behind+i+1), 10), ofStdout...)
		text = append(strconv.AppendInt(text, now.UnixNano(), 10), '\n')
	}
	return text
}

// Feeder writes an input to the process with a record.
type Feeder struct {
	Record string
	Write  func(ctx context.Context, text []byte) (int, error)
	// Alive reports whether the process still runs. Otherwise nothing more is written.
	Alive func() bool
}

// ToFIFO returns a Feeder that writes to a FIFO of a folder, by its path.
func ToFIFO(fifos *foreign.Dir, fifo, record string, alive func() bool) Feeder {
	return Feeder{Record: record, Alive: alive, Write: func(ctx context.Context, text []byte) (int, error) {
		return writeTo(ctx, fifos, fifo, text, alive)
	}}
}

// Feed writes the lines of an input in two parts, as two clients that attach one after
// the other. It writes the second part when the process has read the first.
func (s *Session) Feed(ctx context.Context, in *harness.Input, to Feeder) {
	text, cut := inputText(in.Lines)
	s.feed(ctx, in, to, text, cut)
}

// FeedMore writes some more lines, and waits until the process has read them. It takes
// the number of bytes that were written before, and returns the new total.
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

// inputText returns an input with a number of lines, and the offset of its second part.
func inputText(lines int) (text []byte, cut int) {
	text = inputLines(0, lines, time.Now())
	return text, 1 + bytes.IndexByte(text[len(text)/parts:], '\n') + len(text)/parts
}

func (s *Session) feed(ctx context.Context, in *harness.Input, to Feeder, text []byte, cut int) {
	in.Timeout = inputTimeout
	n, err := to.Write(ctx, text[:cut])
	read := err == nil && s.awaitRead(ctx, to.Record, cut, to.Alive)
	if read && cut < len(text) {
		window := time.NewTimer(openFor) // a premature end of the input needs time to show
		defer window.Stop()
		select {
		case <-window.C:
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

// awaitRead waits until the process has read a number of bytes, and reports whether it
// has.
func (s *Session) awaitRead(ctx context.Context, record string, bytes int, alive func() bool) bool {
	read := func() bool {
		info, err := s.Truth.Describe(record + inputFile)
		return err == nil && info.Size() >= int64(bytes)
	}
	awaitInput(ctx, inputTimeout, func() bool { return read() || !alive() })
	return read()
}

// AwaitEOF waits until a process has read the end of its input, or has ended, and reports
// whether that happened before the timeout. It looks at least once.
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
	text, err := s.Truth.Read(record+inputFile, mostOutput)
	if err != nil && !errors.Is(err, os.ErrNotExist) { // without the file, the process never ran
		s.Record.Problem(harness.ByHarness, err)
	}
	return readLines(string(text), ofStdout)
}

// writeTo waits for a reader of a FIFO, writes to it, and closes it. It returns the
// number of bytes that it has written.
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
