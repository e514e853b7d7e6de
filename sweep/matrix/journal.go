package matrix

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// fileName is the journal's name in a matrix's folder.
const fileName = "matrix.jsonl"

// cells is a journal: a Cell a line, each written at once, so that it outlives a SIGKILL.
// The sweep's own journal has a plan of points as its head, which a matrix has not.
type cells struct{ file *os.File }

// Key is the place of a cell.
type Key struct{ Bug, Release string }

// Key is its place.
func (c Cell) Key() Key { return Key{c.Bug, c.Release} }

// open begins the journal in dir, or goes on with it, and returns the cells that it has;
// the last of those of one place counts. A line that a killed run has torn is cut off.
func open(dir string) (*cells, map[Key]Cell, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, nil, fmt.Errorf("begin the matrix's journal: %w", err)
	}
	f, err := os.OpenFile(filepath.Join(dir, fileName), os.O_CREATE|os.O_RDWR|os.O_APPEND, 0o644)
	if err != nil {
		return nil, nil, fmt.Errorf("begin the matrix's journal: %w", err)
	}
	j := &cells{f}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		return nil, nil, errors.Join(fmt.Errorf("%s is being written by another matrix: take another folder (--out): %w",
			f.Name(), err), f.Close())
	}
	all, whole, err := read(f)
	if err == nil {
		err = f.Truncate(whole)
	}
	if err != nil {
		return nil, nil, errors.Join(fmt.Errorf("%s: %w; take another folder (--out)", f.Name(), err), f.Close())
	}
	done := map[Key]Cell{}
	for _, c := range all {
		done[c.Key()] = c
		if c.Seen == Invalid {
			delete(done, c.Key()) // it showed nothing: the next run tries again
		}
	}
	return j, done, nil
}

// read reads the cells in the order in which they were written.
func read(r io.Reader) (all []Cell, whole int64, err error) {
	in := bufio.NewReader(r)
	for n := 1; ; n++ {
		line, err := in.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return all, whole, nil // what is left is torn
		}
		if err != nil {
			return nil, 0, err
		}
		var c Cell
		if err := json.Unmarshal(line, &c); err != nil {
			return nil, 0, fmt.Errorf("line %d: %w", n, err)
		}
		whole += int64(len(line))
		all = append(all, c)
	}
}

func (j *cells) add(c Cell) error {
	line, err := json.Marshal(c)
	if err == nil {
		_, err = j.file.Write(append(line, '\n'))
	}
	if err != nil {
		return fmt.Errorf("write the matrix's journal: %w", err)
	}
	return nil
}

func (j *cells) close() error { return j.file.Close() }
