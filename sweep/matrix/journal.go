package matrix

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"github.com/shimquake/shimquake/sweep/lines"
)

// fileName is the journal's name in a matrix's folder.
const fileName = "matrix.jsonl"

// cells is a journal: a Cell a line.
type cells struct{ *lines.File }

// Key is the place of a cell.
type Key struct{ Bug, Release string }

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
		var c Cell
		if err := json.Unmarshal(line, &c); err != nil {
			return fmt.Errorf("line %d: %w", n, err)
		}
		for _, part := range c.Histories {
			end = max(end, part.End())
		}
		if c.Seen == Invalid {
			delete(done, Key{c.Bug, c.Release}) // it showed nothing: the next run tries again
			return nil
		}
		done[Key{c.Bug, c.Release}] = c
		return nil
	})
	if err != nil {
		err = fmt.Errorf("%s: %w; take another folder (--out)", j.Name(), err)
		_ = j.Close() // it was only read
		return j, nil, 0, err
	}
	return j, done, end, nil
}

func (j cells) add(c Cell) error {
	if err := j.Add(c); err != nil {
		return fmt.Errorf("write the matrix's journal: %w", err)
	}
	return nil
}
