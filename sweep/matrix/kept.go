package matrix

import (
	"slices"

	"golang.org/x/mod/semver"

	"github.com/shimquake/shimquake/catalogue"
	"github.com/shimquake/shimquake/sweep/journal"
)

// runs are the results of a journal, by case and release.
type runs map[caseOn][]*journal.Result

type caseOn struct{ name, release string }

func runsOf(h journal.Head, all []journal.Result) runs {
	of := runs{}
	for i, r := range all {
		key := caseOn{h.Plan.Specs[r.I].CaseName(), r.On}
		of[key] = append(of[key], &all[i])
	}
	return of
}

func (of runs) work(b catalogue.Bug, release string) work {
	w := work{bug: b, release: release}
	for _, c := range b.Cases {
		w.runs = append(w.runs, slices.Clip(of[caseOn{c.Name, release}]))
	}
	return w
}

// TableOf returns the table of a journal, with the releases and the bugs that have run.
// It sorts the cells by release, the oldest first, and by bug, the worst first. A
// containerd that is no release (src:DIR) comes last. The table of an unfinished run
// lacks some cells.
func TableOf(h journal.Head, all []journal.Result) Table {
	t, of := Table{Cells: map[Key]Cell{}}, runsOf(h, all)
	for _, r := range all {
		if !slices.Contains(t.Releases, r.On) {
			t.Releases = append(t.Releases, r.On)
		}
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
		n := len(t.Cells)
		for _, release := range t.Releases {
			if c := of.work(b, release).cell(); c.Runs > 0 {
				t.Cells[c.Key()] = c
			}
		}
		if len(t.Cells) > n {
			t.Bugs = append(t.Bugs, b)
		}
	}
	return t
}
