package catalogue

import (
	"cmp"
	"fmt"
	"io/fs"
	"math"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/shimquake/shimquake/catalogue/bugs"
	"github.com/shimquake/shimquake/oracle/finding"
	"github.com/shimquake/shimquake/oracle/residue"
)

// known returns all bugs. It panics if a file is invalid; TestFiles finds such a file.
var known = sync.OnceValue(func() []Bug { return mustBugs(bugs.Files) })

// Bugs returns all bugs, sorted by id.
func Bugs() []Bug { return slices.Clone(known()) }

// Residues returns the leftovers that releases are known to have, and that are no
// violation. They are the key `residue` of the bugs' files.
func Residues() []residue.Known { return slices.Clone(residues()) }

var residues = sync.OnceValue(func() []residue.Known {
	all, err := residue.Load(bugs.Files)
	if err != nil {
		panic(err)
	}
	return all
})

// BySeverity returns all bugs, the worst first.
func BySeverity() []Bug {
	return slices.SortedStableFunc(slices.Values(known()), func(a, b Bug) int {
		return cmp.Or(
			CompareSeverity(a.Severity, b.Severity),
			cmp.Compare(a.place(), b.place()),
			cmp.Compare(a.ID, b.ID),
		)
	})
}

// CompareSeverity orders severities, the worst first and "" last.
func CompareSeverity(a, b Severity) int {
	if (a == "") != (b == "") {
		return cmp.Compare(len(b), len(a))
	}
	return cmp.Compare(slices.Index(Severities, a), slices.Index(Severities, b))
}

// place returns the position of a bug among the bugs of its severity.
func (b Bug) place() int {
	if b.Rank == 0 {
		return math.MaxInt
	}
	return b.Rank
}

func mustBugs(files fs.FS) []Bug {
	names, err := fs.Glob(files, "*.yaml")
	if err != nil {
		panic(err)
	}
	out := make([]Bug, 0, len(names))
	for _, name := range names {
		text, err := fs.ReadFile(files, name)
		if err != nil {
			panic(err)
		}
		b, err := ParseBug(path.Join("catalogue/bugs", name), text)
		if err == nil && b.ID != strings.TrimSuffix(name, ".yaml") {
			err = fmt.Errorf("%s has the id %q: rename the file to %s.yaml, or correct the id", name, b.ID, b.ID)
		}
		if err != nil {
			panic(err)
		}
		out = append(out, b)
	}
	return out
}

// Matches returns all matches for findings of this bug: Left, May, and the matches of
// Sweep and Residue.
func (b Bug) Matches() (all []finding.Match) {
	add := func(more ...finding.Match) {
		for _, m := range more {
			if !slices.ContainsFunc(all, func(o finding.Match) bool { return o.String() == m.String() }) {
				all = append(all, m)
			}
		}
	}
	add(b.Left...)
	add(b.May...)
	if b.Sweep != nil {
		add(b.Sweep.Match...)
	}
	if b.Residue != nil {
		add(finding.Match{Class: b.Residue.Class, Facts: b.Residue.Match})
	}
	return all
}
