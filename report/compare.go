package report

import (
	"fmt"

	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/oracle/rate"
	"github.com/shimquake/shimquake/sweep/compare"
	"github.com/shimquake/shimquake/sweep/journal"
)

// Compare returns the report of a comparison: a table of the findings, the worst first,
// with a column for each containerd. A cell leads to the first run on its side. It also
// returns the number of the cases.
func Compare(h journal.Head, rep compare.Report, dirs ...string) (Data, int) {
	d := Data{
		Title:   fmt.Sprintf("containerd %s compared with %s", rep.B, rep.A),
		Command: fmt.Sprintf("shimquake compare %s %s", rep.A, rep.B),
		Says:    append([]string{rep.Summary()}, rep.Lines()...),
		Grid:    &Grid{Columns: []string{"A: " + rep.A, "B: " + rep.B}, Compares: true},
	}
	listed := map[string]bool{}
	cell := func(row compare.Row, side, on string, odds func(compare.Case) rate.Odds) GridCell {
		c := GridCell{Seen: "held", Outcome: harness.Held}
		for _, k := range row.Cases {
			c.Shown, c.Runs = c.Shown+odds(k).Shown, c.Runs+odds(k).Runs
			// One case shows what is the same.
			if odds(k).Runs > 0 && (row.Kind != compare.Same || len(c.Cases) == 0 && odds(k).Shown > 0) {
				c.Cases = append(c.Cases, sideID(k.Spec, on))
				listed[sideID(k.Spec, on)] = true
			}
		}
		if c.Shown > 0 {
			c.Seen, c.Outcome = "shown", harness.Violated
		}
		if c.Runs == 0 {
			c.Seen = "-"
		}
		c.Differs = side == row.On && row.Kind != compare.Same
		return c
	}
	for i, row := range rep.Rows {
		d.Grid.Rows = append(d.Grid.Rows, GridRow{Name: fmt.Sprintf("%d %s", i+1, row.Kind), Title: row.Sentence(),
			Cells: []GridCell{
				cell(row, "A", "", func(k compare.Case) rate.Odds { return k.A }),
				cell(row, "B", rep.B, func(k compare.Case) rate.Odds { return k.B }),
			}})
	}
	d.Cases = func(yield func(Case, error) bool) {
		seen := map[string]bool{} // the first run on each side
		eachHistory(dirs, func(dir string, r journal.Result, k harness.Kept) (c Case, ok bool) {
			if r.On == rep.A {
				r.On = ""
			}
			id := sideID(r.I, r.On)
			if !listed[id] || seen[id] {
				return c, false
			}
			seen[id] = true
			c = sweptCase(dir, h.Plan.Specs[r.I], r, k)
			c.ID, c.Without, c.Workload = id, "", "A: "+c.Workload
			if r.On != "" {
				c.Workload = "B" + c.Workload[1:]
			}
			return c, true
		})(yield)
	}
	return d, len(listed)
}

// sideID returns the id of a case's run on a side; on is "" for A.
func sideID(spec int, on string) string {
	if on == "" {
		return caseID(spec)
	}
	return caseID(spec) + "-b"
}
