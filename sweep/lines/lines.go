// Package lines keeps a file of JSON lines that one process writes: records that survive
// SIGKILL and a full disk, because each is one write, and what is torn of it is cut off.
package lines

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/shimquake/shimquake/foreign"
)

// errInUse says what to do where another process writes the file.
var errInUse = errors.New("it is being written by another shimquake: take another folder (--out)")

// File is such a file while it is written.
type File struct {
	file  *os.File
	whole int64 // how many bytes of it are whole records
}

// Open opens a file for reading and adding. No other process writes it as long as this
// one lives: the error is foreign.ErrInUse. flag is os.O_CREATE, os.O_EXCL or 0, of
// os.OpenFile. Cut follows.
func Open(name string, flag int) (*File, error) {
	f, err := foreign.OpenFile(name, flag|os.O_RDWR|os.O_APPEND, 0o644)
	if err != nil {
		return nil, err
	}
	err = foreign.Lock(f)
	if errors.Is(err, foreign.ErrInUse) {
		err = fmt.Errorf("%s: %w: %w", name, errInUse, err)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return &File{file: f}, nil
}

// Read is Each of the file, and then cuts off what is torn behind the last whole line.
func (f *File) Read(visit func(n int, line []byte) error) error {
	whole, err := Each(f.file, visit)
	if err != nil {
		return err
	}
	if err := f.file.Truncate(whole); err != nil {
		return fmt.Errorf("cut the torn line off: %w", err)
	}
	f.whole = whole
	return nil
}

// The most that a record may have. The plan of a sweep with all options has some 30 MB.
const (
	mostLine   = 128 << 20 // bytes
	mostValues = 4_000_000
)

// Each calls visit with each whole line, from 1, and returns how many bytes these are. A
// last line without its end is torn: it is no record.
func Each(from io.Reader, visit func(n int, line []byte) error) (whole int64, err error) {
	r := bufio.NewReader(from)
	for n := 1; ; n++ {
		line, err := foreign.ReadLine(r, mostLine)
		if errors.Is(err, io.EOF) {
			return whole, nil
		}
		if err == nil {
			err = foreign.CheckJSON("the line", line, mostValues)
		}
		if err == nil {
			err = visit(n, line)
		}
		if err != nil {
			return whole, err
		}
		whole += int64(len(line))
	}
}

// Add appends a record. What a full disk took of it does not stand before the next.
func (f *File) Add(record any) error {
	line, err := json.Marshal(record)
	if err != nil {
		return err
	}
	line = append(line, '\n')
	if _, err = f.file.Write(line); err != nil {
		return errors.Join(err, f.file.Truncate(f.whole))
	}
	f.whole += int64(len(line))
	return nil
}

// Name is the file's.
func (f *File) Name() string { return f.file.Name() }

// Close ends the writing.
func (f *File) Close() error { return f.file.Close() }
