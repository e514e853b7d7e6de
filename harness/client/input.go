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

// inputFile is the suffix of the file in which a payload keeps what it has read of its
// standard input.
const inputFile = ".in"

const (
	// inputPatience is how long a payload may take to read all of its input, or to see its
	// end, on a machine that has other things to do. It takes some 100 ms.
	inputPatience = 10 * time.Second
	// openFor is how long an input is looked at that is to stay open with no writer.
	openFor = 30 * time.Millisecond
	// parts is how many first parts an input has: the rest of it is more than what
	// lies between writer and payload holds.
	parts = 4
)

// inputLines are n numbered lines behind so many others, as a payload writes them to its
// standard output.
func inputLines(behind, n int, now time.Time) (text []byte) {
	for i := range n {
		text = append(strconv.AppendInt(text, int64(behind+i+1), 10), ofStdout...)
		text = append(strconv.AppendInt(text, now.UnixNano(), 10), '\n')
	}
	return text
}

// Feeder writes the parts of an input to the process of a record.
type Feeder struct {
	Record string
	Write  func(ctx context.Context, text []byte) (int, error)
	// Alive says whether the process has not ended: else nothing more is written.
	Alive func() bool
}

// ToFIFO returns the Feeder that writes to a FIFO of a folder, by its path.
func ToFIFO(fifos *foreign.Dir, fifo, record string, alive func() bool) Feeder {
	return Feeder{Record: record, Alive: alive, Write: func(ctx context.Context, text []byte) (int, error) {
		return writeTo(ctx, fifos, fifo, text, alive)
	}}
}

// Feed writes the lines of an input in two parts, as two clients do that attach one after
// the other: the second when the first was read.
func (s *Session) Feed(ctx context.Context, in *harness.Input, to Feeder) {
	text, cut := inputText(in.Lines)
	s.feed(ctx, in, to, text, cut)
}

// FeedMore writes so many more lines, and waits until they were read. taken is how many
// bytes the process was given before, and the result is that with these.
func (s *Session) FeedMore(ctx context.Context, in *harness.Input, to Feeder, lines, taken int) int {
	text := inputLines(in.Lines, lines, time.Now())
	in.Lines += lines
	in.Patience = inputPatience
	n, err := to.Write(ctx, text)
	in.Wrote += bytes.Count(text[:n], []byte{'\n'})
	if err != nil {
		s.Record.Failed("client", "the standard input of "+to.Record+" was not written whole", err)
	} else {
		s.awaitRead(ctx, to.Record, taken+n, to.Alive)
	}
	return taken + n
}

// inputText is an input of so many lines, and where its second part begins.
func inputText(lines int) (text []byte, cut int) {
	text = inputLines(0, lines, time.Now())
	return text, 1 + bytes.IndexByte(text[len(text)/parts:], '\n') + len(text)/parts
}

func (s *Session) feed(ctx context.Context, in *harness.Input, to Feeder, text []byte, cut int) {
	in.Patience = inputPatience
	n, err := to.Write(ctx, text[:cut])
	read := err == nil && s.awaitRead(ctx, to.Record, cut, to.Alive)
	if read && cut < len(text) {
		window := time.NewTimer(openFor) // that it stays open takes time to see
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
		s.Record.Failed("client", "the standard input of "+to.Record+" was not written whole", err)
	}
}

// awaitRead waits until so many bytes of an input were read, and reports whether.
func (s *Session) awaitRead(ctx context.Context, record string, bytes int, alive func() bool) bool {
	read := func() bool {
		info, err := s.Truth.Describe(record + inputFile)
		return err == nil && info.Size() >= int64(bytes)
	}
	awaitInput(ctx, inputPatience, func() bool { return read() || !alive() })
	return read()
}

// AwaitEOF waits for so long, at least one look, until a process has seen the end of its
// input, or has ended, and reports whether.
func (s *Session) AwaitEOF(ctx context.Context, record string, patience time.Duration, alive func() bool) bool {
	over := func() bool {
		own, err := s.Payload(record)
		return err == nil && (!own.EOFAt.IsZero() || own.Exited) || !alive()
	}
	awaitInput(ctx, patience, over)
	return over()
}

func awaitInput(ctx context.Context, patience time.Duration, is func() bool) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	_ = poll.Until(ctx, lookEvery, func() (bool, error) { return is(), nil }) // the judge's business
}

// InputRead is what a process has kept of its input.
func (s *Session) InputRead(record string) harness.Output {
	text, err := s.Truth.Read(record+inputFile, mostOutput)
	if err != nil && !errors.Is(err, os.ErrNotExist) { // it has never begun
		s.Record.Problem(harness.ByHarness, err)
	}
	return readLines(string(text), ofStdout)
}

// writeTo writes to a FIFO, and closes it. It waits for a reader. It returns how many
// bytes were taken.
func writeTo(ctx context.Context, fifos *foreign.Dir, fifo string, text []byte, alive func() bool) (n int, err error) {
	name, err := filepath.Rel(fifos.Name(), fifo)
	if err != nil {
		return 0, err
	}
	ctx, cancel := context.WithTimeout(ctx, inputPatience)
	defer cancel()
	var f *os.File
	if err := poll.Until(ctx, lookEvery, func() (bool, error) {
		f, err = fifos.OpenFIFO(name, os.O_WRONLY)
		if errors.Is(err, unix.ENXIO) && alive() { // its shim has not opened it yet
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
