// Package lines keeps a file of JSON lines with one writer. Its records survive SIGKILL
// and a full disk: each is one write, and a torn one is cut off.
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

// errInUse is the error if another process writes the file.
var errInUse = errors.New("it is being written by another shimquake: take another folder (--out)")

// File is an open file of lines.
type File struct {
	file  *os.File
	whole int64 // length of the whole records, in bytes
}

// Open opens a file for reading and appending, with os.O_CREATE, os.O_EXCL or 0 as flag.
// No other process can write it while this one runs: the error is foreign.ErrInUse. The
// caller then calls Read.
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

// Read calls Each, and then cuts off a torn last line.
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

// The limits of a record. The plan of a sweep with all options has some 30 MB.
const (
	mostLine   = 128 << 20 // bytes
	mostValues = 4_000_000
)

// Each calls visit with each whole line, from 1, and returns their length in bytes. A
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

// Add appends a record. On an error it removes the written part, for example on a full
// disk.
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

// Name returns the file's name.
func (f *File) Name() string { return f.file.Name() }

// Close closes the file.
func (f *File) Close() error { return f.file.Close() }
