package matrix

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/sweep/lines"
)

// fileName is the journal's name in a matrix's folder.
const fileName = "matrix.jsonl"

// cells is a journal with one Cell on each line.
type cells struct{ *lines.File }

// Key identifies a cell of the table.
type Key struct{ Bug, Release string }

// Key returns the key of the cell.
func (c Cell) Key() Key { return Key{c.Bug, c.Release} }

// open opens the journal in dir, and returns its cells and the offset at which their last
// history ends. Of several cells with the same key it returns the last.
func open(dir string) (j cells, done map[Key]Cell, end int64, err error) {
	if err = os.MkdirAll(dir, 0o755); err == nil {
		j.File, err = lines.Open(filepath.Join(dir, fileName), os.O_CREATE)
	}
	if err != nil {
		return j, nil, 0, fmt.Errorf("begin the matrix's journal: %w", err)
	}
	done = map[Key]Cell{}
	err = j.Read(func(n int, line []byte) error {
		c, err := cellOf(j.Name(), n, line)
		if err != nil {
			return err
		}
		for _, part := range c.Histories {
			end = max(end, part.End())
		}
		if c.Seen == Invalid {
			delete(done, c.Key()) // an invalid cell runs again
			return nil
		}
		done[c.Key()] = c
		return nil
	})
	if err != nil {
		err = fmt.Errorf("%w; choose another folder (--out)", err)
		_ = j.Close() // ignored: the file was only read
		return j, nil, 0, err
	}
	return j, done, end, nil
}

// cellOf parses the n-th line of a journal with this name.
func cellOf(name string, n int, line []byte) (c Cell, err error) {
	err = json.Unmarshal(line, &c)
	isResult := slices.Contains([]Seen{Shown, Held, Other, Invalid, NoPoint}, c.Seen)
	if err == nil && (!isResult || !slices.Contains([]Expected{Bad, Good, Unknown}, c.Expect)) {
		err = fmt.Errorf("%q, %q: these are no result and expectation of a matrix", c.Seen, c.Expect)
	}
	if err != nil {
		return c, &harness.InputError{File: fmt.Sprintf("%s:%d", name, n), Err: err}
	}
	return c, nil
}

func (j cells) add(c Cell) error {
	if err := j.Add(c); err != nil {
		return fmt.Errorf("write the matrix's journal: %w", err)
	}
	return nil
}
