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

// mostJournal is how long a journal may be, in bytes. A cell has some 500.
const mostJournal = 1 << 30

// Has reports whether a matrix has run in a folder.
func Has(dir string) bool {
	_, err := os.Lstat(filepath.Join(dir, fileName))
	return err == nil
}

// Read is the table of the journal in dir, which nobody need have ended: cells that have
// not run are not in it. What is expected is what the catalogue says now, of those whose
// case is still the one that ran; Old are the others. Errors are of type
// *harness.InputError.
func Read(dir string) (Table, error) {
	name := filepath.Join(dir, fileName)
	f, err := foreign.Open(name, mostJournal)
	if err != nil {
		return Table{}, &harness.InputError{File: name, Err: err}
	}
	var all []Cell
	_, err = lines.Each(f, func(n int, line []byte) error {
		c, err := cellOf(n, line)
		all = append(all, c)
		return err
	})
	if err == nil && len(all) == 0 {
		err = errors.New("no cell of it has run: the same `shimquake matrix` goes on with it")
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return Table{}, &harness.InputError{File: name, Err: err}
	}
	return tableOf(all), nil
}

// tableOf has the oldest release and the worst bug first: cells end in any order. What is
// no release (src:DIR), and bugs that the catalogue has no more, come last.
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

// expectAnew asks the catalogue again, which may have learnt since.
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

// OldSays tells of cells whose case is no more what it was when they ran; "": there are
// none.
func (t Table) OldSays() string {
	if t.Old == 0 {
		return ""
	}
	return fmt.Sprintf("%d of %d cells are of cases that have changed since, and stand beside what was expected "+
		"then: run the matrix again.", t.Old, len(t.Cells))
}
