package matrix

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/shimquake/shimquake/sweep/lines"
)

// fileName is the journal's name in a matrix's folder.
const fileName = "matrix.jsonl"

// cells is a journal: a Cell a line.
type cells struct{ *lines.File }

// Key is the place of a cell.
type Key struct{ Bug, Release string }

// Key is its place.
func (c Cell) Key() Key { return Key{c.Bug, c.Release} }

// open begins the journal in dir, or goes on with it, and returns the cells that it has,
// the last of those of one place, and where the last of their histories ends.
func open(dir string) (j cells, done map[Key]Cell, end int64, err error) {
	if err = os.MkdirAll(dir, 0o755); err == nil {
		j.File, err = lines.Open(filepath.Join(dir, fileName), os.O_CREATE)
	}
	if err != nil {
		return j, nil, 0, fmt.Errorf("begin the matrix's journal: %w", err)
	}
	done = map[Key]Cell{}
	err = j.Read(func(n int, line []byte) error {
		c, err := cellOf(n, line)
		if err != nil {
			return err
		}
		for _, part := range c.Histories {
			end = max(end, part.End())
		}
		if c.Seen == Invalid {
			delete(done, c.Key()) // it showed nothing: the next run tries again
			return nil
		}
		done[c.Key()] = c
		return nil
	})
	if err != nil {
		err = fmt.Errorf("%s: %w; take another folder (--out)", j.Name(), err)
		_ = j.Close() // it was only read
		return j, nil, 0, err
	}
	return j, done, end, nil
}

// cellOf reads the n-th line of a journal.
func cellOf(n int, line []byte) (c Cell, err error) {
	if err := json.Unmarshal(line, &c); err != nil {
		return c, fmt.Errorf("line %d: %w", n, err)
	}
	if !slices.Contains([]Seen{Shown, Held, Other, Invalid, NoPoint}, c.Seen) ||
		!slices.Contains([]Expected{Bad, Good, Unknown}, c.Expect) {
		return c, fmt.Errorf("line %d: %q, %q: no matrix sees or expects that", n, c.Seen, c.Expect)
	}
	return c, nil
}

func (j cells) add(c Cell) error {
	if err := j.Add(c); err != nil {
		return fmt.Errorf("write the matrix's journal: %w", err)
	}
	return nil
}
