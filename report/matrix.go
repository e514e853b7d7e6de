package report

import (
	"fmt"
	"path/filepath"

	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/quote"
	"github.com/shimquake/shimquake/sweep/matrix"
)

// Matrix returns the report of a matrix, whose histories are in a folder. Differences
// from the catalogue come first. The expected results follow, bug by bug.
func Matrix(t matrix.Table, without map[string]harness.Verdict, dir string) Data {
	d := Data{Title: "Bugs on releases", Without: without}
	m := matrixCases{clusters: map[string]*Cluster{}, ids: map[matrix.Key][]string{}, titles: map[string]string{}}
	for _, b := range t.Bugs {
		m.titles[b.ID] = b.Title
	}
	t.Each(m.add)
	d.Says = append(
		d.Says,
		fmt.Sprintf("%s: %d as the catalogue says, %d differ, %d show nothing, %d untested; "+
			"%d lack the place of the fault.", quote.Count(m.cells, "cell"), m.as, m.differ, m.invalid, m.news, m.none),
	)
	if all := len(t.Bugs) * len(t.Releases); m.cells < all {
		d.Lacks = fmt.Sprintf("%d of %s have not run", all-m.cells, quote.Count(all, "cell"))
	}
	d.Grid = gridOf(t, m.ids)
	for _, id := range m.order {
		d.Clusters = append(d.Clusters, *m.clusters[id])
	}
	SortClusters(d.Clusters)
	d.Cases = keptCases(filepath.Join(dir, harness.HistoriesFile), m.parts, func(n int, v harness.Verdict) Case {
		v.Evidence = EvidenceIn(dir, v.Evidence)
		c := m.cell[n]
		return Case{ID: caseID(n), Verdict: v, Workload: c.Release, Fault: c.Bug, Whose: m.whose(c), Replay: Replay(v),
			Without: WithoutName(v.Case)}
	})
	return d
}

// matrixCases has the runs of a matrix, in the order of its cells, and their results.
type matrixCases struct {
	cells, as, differ, invalid, news, none int

	parts    []harness.Part
	cell     []matrix.Cell // of each part
	ids      map[matrix.Key][]string
	titles   map[string]string // of the bugs
	clusters map[string]*Cluster
	order    []string
}

// add adds the runs of a cell.
func (m *matrixCases) add(c matrix.Cell) {
	m.cells++
	var ids []string
	for _, p := range c.Histories {
		if p.Len == 0 {
			continue
		}
		ids = append(ids, caseID(len(m.parts)))
		m.parts, m.cell = append(m.parts, p), append(m.cell, c)
	}
	m.ids[c.Key()] = ids
	out := Cluster{ID: c.Bug, State: Known, Severity: severityOf(c.Bug), Title: c.Bug + ": as the catalogue says",
		Replay: "shimquake run --containerd " + c.Release + " " + c.Case}
	switch {
	case c.Differs():
		m.differ++
		out.ID, out.State, out.Title = c.Bug+"-"+c.Release, New, c.String()
		if c.Seen == matrix.Held {
			out.State = Gone
		}
	case c.Seen == matrix.Invalid:
		m.invalid++
		out.ID, out.State, out.Title = c.Bug+"-"+c.Release, Unreproduced, c.String()
	case c.IsNew():
		m.news++
		out.ID, out.Title = c.Bug+"-not-known", c.Bug+": untested on these releases"
	case c.Seen == matrix.NoPoint:
		m.none++
		out = Cluster{
			ID:    "no-such-place",
			State: Known,
			Title: "The release lacks the place of the fault, so the result is not known",
		}
	default:
		m.as++
		if c.Seen == matrix.Held {
			return // the bug was not expected and did not show: there is nothing to list
		}
	}
	k := m.clusters[out.ID]
	if k == nil {
		k = &out
		m.clusters[out.ID], m.order = k, append(m.order, out.ID)
	}
	k.Says = append(k.Says, cellSays(c))
	k.Cases = append(k.Cases, ids...)
}

// The method returns the bug that a run of the cell should show, with its title.
func (m *matrixCases) whose(c matrix.Cell) []string {
	name := c.Bug
	if title := m.titles[c.Bug]; title != "" {
		name += ": " + title
	}
	return []string{"a run of " + name, "the catalogue expects " + string(c.Expect) + "; " + cellSays(c)}
}

// cellSays returns a cell in one line.
func cellSays(c matrix.Cell) string {
	text := fmt.Sprintf("%s: %s in %d of %s", c.Release, c.Seen, c.Shown, quote.Count(c.Runs, "run"))
	switch c.Seen {
	case matrix.Shown:
	case matrix.NoPoint:
		text = c.Release + ": no such place"
	default:
		text = fmt.Sprintf("%s: %s in %s", c.Release, c.Seen, quote.Count(c.Runs, "run"))
	}
	if c.Why != "" {
		text += ": " + harness.ShortIDs(firstLine(c.Why))
	}
	return text
}
