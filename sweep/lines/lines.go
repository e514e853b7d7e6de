// Package lines keeps a file of JSON lines with one writer. The file stays valid after a
// SIGKILL or on a full disk, because each record is one write, and a partly written
// record is removed.
package lines

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/shimquake/shimquake/foreign"
	"github.com/shimquake/shimquake/harness"
)

// errInUse is the error if another process writes the file.
var errInUse = errors.New("another shimquake is writing it: use another folder (--out)")

// File is an open file of lines.
type File struct {
	file  *os.File
	whole int64 // length of the complete records, in bytes
}

// Open opens a file for reading and appending, with os.O_CREATE, os.O_EXCL or 0 as flag.
// If another process has the file open, the error is foreign.ErrInUse. The caller must
// call Read before Add.
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

// Read calls Each, and then removes an incomplete last line from the file.
func (f *File) Read(visit func(n int, line []byte) error) error {
	whole, err := Each(f.file.Name(), f.file, visit)
	if err != nil {
		return err
	}
	if err := f.file.Truncate(whole); err != nil {
		return fmt.Errorf("remove the incomplete last line: %w", err)
	}
	f.whole = whole
	return nil
}

// The limits of a record. The plan of a sweep with all options takes some 30 MB.
const (
	maxLine   = 128 << 20 // bytes
	maxValues = 4_000_000
)

// Each calls visit with each complete line, numbered from 1, and returns the length of
// these lines in bytes. It ignores a last line without a newline, because its writer was
// killed. Errors about a line begin with the name and the line's number.
func Each(name string, from io.Reader, visit func(n int, line []byte) error) (whole int64, err error) {
	r := bufio.NewReader(from)
	for n := 1; ; n++ {
		line, err := foreign.ReadLine(r, maxLine)
		if errors.Is(err, io.EOF) {
			return whole, nil
		}
		if err == nil {
			err = foreign.CheckJSON("the line", line, maxValues)
		}
		if err != nil {
			return whole, &harness.InputError{File: fmt.Sprintf("%s:%d", name, n), Err: err}
		}
		if err := visit(n, line); err != nil {
			return whole, err
		}
		whole += int64(len(line))
	}
}

// Add appends a record. On an error, for example on a full disk, it removes the written
// part.
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
