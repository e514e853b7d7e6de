package matrix

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"golang.org/x/mod/semver"

	"github.com/shimquake/shimquake/catalogue"
	"github.com/shimquake/shimquake/foreign"
	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/sweep/lines"
)

// maxJournal is the largest size of a journal, in bytes. A cell takes some 500 bytes.
const maxJournal = 1 << 30

// Has reports whether a folder has the journal of a matrix.
func Has(dir string) bool {
	_, err := os.Lstat(filepath.Join(dir, fileName))
	return err == nil
}

// Read returns the table of the journal in dir. The table of an unfinished run lacks some
// cells. The expectations come from the current catalogue, except for cells whose case
// has changed since they ran; Old counts these cells. Errors are of type
// *harness.InputError.
func Read(dir string) (Table, error) {
	name := filepath.Join(dir, fileName)
	f, err := foreign.Open(name, maxJournal)
	if err != nil {
		return Table{}, &harness.InputError{File: name, Err: err}
	}
	var all []Cell
	_, err = lines.Each(name, f, func(n int, line []byte) error {
		c, err := cellOf(name, n, line)
		all = append(all, c)
		return err
	})
	if err == nil && len(all) == 0 {
		err = &harness.InputError{File: name,
			Err: errors.New("none of its cells has run: continue it with the same `shimquake matrix`")}
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return Table{}, err
	}
	return tableOf(all), nil
}

// tableOf sorts the cells by release, the oldest first, and by bug, the worst first. A
// containerd that is no release (src:DIR) and a bug that the catalogue no longer has come
// last.
func tableOf(all []Cell) Table {
	t := Table{Cells: map[Key]Cell{}}
	ran := map[string]bool{}
	for _, c := range all {
		if !slices.Contains(t.Releases, c.Release) {
			t.Releases = append(t.Releases, c.Release)
		}
		ran[c.Bug], t.Cells[c.Key()], t.Build = true, c, c.Build
	}
	slices.SortStableFunc(t.Releases, func(a, b string) int {
		switch isA, isB := semver.IsValid(a), semver.IsValid(b); {
		case isA && isB:
			return semver.Compare(a, b)
		case isA:
			return -1
		case isB:
			return 1
		}
		return 0
	})
	for _, b := range catalogue.BySeverity() {
		if ran[b.ID] {
			t.Bugs = append(t.Bugs, b)
			delete(ran, b.ID)
		}
	}
	for _, c := range all {
		if ran[c.Bug] {
			t.Bugs = append(t.Bugs, catalogue.Bug{ID: c.Bug})
			delete(ran, c.Bug)
		}
	}
	t.expectAnew()
	return t
}

// expectAnew updates the expectations from the current catalogue.
func (t *Table) expectAnew() {
	for _, b := range t.Bugs {
		for _, release := range t.Releases {
			c, ran := t.Cells[Key{b.ID, release}]
			if !ran {
				continue
			}
			if w := (work{bug: b, release: release}); len(b.Cases) > 0 && w.digest() == c.Digest {
				c.Expect = Expect(b, release)
				t.Cells[c.Key()] = c
			} else {
				t.Old++
			}
		}
	}
}

// StaleText describes the cells whose case has changed since they ran, or returns "".
func (t Table) StaleText() string {
	if t.Old == 0 {
		return ""
	}
	return fmt.Sprintf("the catalogue's cases of %d of %d cells have changed since they ran, "+
		"and these cells have the expectation of "+
		"that time: run the matrix again.", t.Old, len(t.Cells))
}
