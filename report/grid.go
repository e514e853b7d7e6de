package report

import (
	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/sweep/matrix"
)

// gridOf returns a matrix as a table for the page. cases has the ids of the runs of each
// cell.
func gridOf(t matrix.Table, cases map[matrix.Key][]string) *Grid {
	g := &Grid{Columns: t.Releases}
	for _, b := range t.Bugs {
		row := GridRow{Name: b.ID, Title: b.Title}
		for _, release := range t.Releases {
			c := t.Cells[matrix.Key{Bug: b.ID, Release: release}]
			row.Cells = append(row.Cells, GridCell{Expected: string(c.Expect), Seen: string(c.Seen), Shown: c.Shown,
				Runs: c.Runs, Differs: c.Differs(), Nothing: c.Seen == matrix.Invalid, Outcome: outcomeOf(c.Seen),
				Cases: cases[c.Key()]})
		}
		g.Rows = append(g.Rows, row)
	}
	return g
}

// outcomeOf returns the outcome of a run with this result of a cell.
func outcomeOf(s matrix.Seen) harness.Outcome {
	switch s {
	case matrix.Shown, matrix.Other:
		return harness.Violated
	case matrix.Held:
		return harness.Held
	case matrix.Invalid, matrix.NoPoint:
		return harness.Invalid
	}
	return ""
}
