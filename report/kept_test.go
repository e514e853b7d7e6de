package report_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/shimquake/shimquake/catalogue"
	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/must"
	"github.com/shimquake/shimquake/report"
	"github.com/shimquake/shimquake/sweep/matrix"
)

// keptIn keeps verdicts in a folder.
func keptIn(t *testing.T, dir string, all ...harness.Verdict) (parts []harness.Part) {
	t.Helper()
	h, err := harness.OpenHistories(filepath.Join(dir, harness.HistoriesFile))
	must.Succeed(t, err)
	for _, v := range all {
		p, kerr := h.Keep(v)
		parts, err = append(parts, p), errors.Join(err, kerr)
	}
	if err = errors.Join(err, h.Close()); err != nil {
		t.Fatal(err)
	}
	return parts
}

// texts are a report's files, by their names.
func texts(t *testing.T, d report.Data) map[string]string {
	t.Helper()
	dir, out := t.TempDir(), map[string]string{}
	must.Succeed(t, report.Write(dir, d))
	for _, name := range []string{report.HTMLFile, report.ResultsFile, report.JUnitFile, report.SummaryFile} {
		text := must.Get(os.ReadFile(filepath.Join(dir, name)))(t)
		out[name] = string(text)
	}
	return out
}

// tabled is a matrix whose second bug differs on both of its releases.
func tabled(t *testing.T, dir string) matrix.Table {
	t.Helper()
	parts := keptIn(t, dir, leaked("bug-a"), ran("bug-a"), leaked("bug-b"))
	table := matrix.Table{Releases: []string{"v2.3.7", "v2.4.2"},
		Bugs: []catalogue.Bug{{ID: "bug-a", Title: "A shim <b>stays</b>"}, {ID: "bug-b"}}}
	cell := func(bug, release string, expect matrix.Expected, seen matrix.Seen, at ...harness.Part) {
		if table.Cells == nil {
			table.Cells = map[matrix.Key]matrix.Cell{}
		}
		table.Cells[matrix.Key{Bug: bug, Release: release}] = matrix.Cell{
			Bug:       bug,
			Case:      bug,
			Release:   release,
			Expect:    expect,
			Seen:      seen,
			Runs:      len(at),
			Shown:     len(at),
			Histories: at,
		}
	}
	cell("bug-a", "v2.3.7", matrix.Bad, matrix.Shown, parts[0])
	cell("bug-a", "v2.4.2", matrix.Good, matrix.Held, parts[1])
	cell("bug-b", "v2.3.7", matrix.Good, matrix.Shown, parts[2], harness.Part{}) // the second has no history
	cell("bug-b", "v2.4.2", matrix.Bad, matrix.Held)
	return table
}

func TestMatrixReport(t *testing.T) {
	dir := t.TempDir()
	table := tabled(t, dir)
	d := report.Matrix(table, nil, dir)
	var got []string
	for _, c := range d.Clusters {
		got = append(got, string(c.State)+" "+c.ID+" "+strings.Join(c.Cases, ","))
	}
	want := []string{"new bug-b-v2.3.7 case-2", "gone bug-b-v2.4.2 ", "known bug-a case-0"}
	must.Equal(t, strings.Join(got, "; "), strings.Join(want, "; "))
	if !strings.HasPrefix(d.Says[0], "4 cells: 2 as the catalogue says, 2 differ, 0 show nothing") {
		t.Error(d.Says)
	}
	files := texts(t, d)
	must.Equal(t, strings.Count(files[report.ResultsFile], `"type":"case"`), 3, "cases in", files[report.ResultsFile])
	for _, says := range []string{"bug-b on v2.3.7: expected ok, shown", "bug-b on v2.4.2: expected bad, held"} {
		must.Contain(t, strings.ToLower(files[report.SummaryFile]), says)
	}
}

func TestMatrixGrid(t *testing.T) {
	dir := t.TempDir()
	d := report.Matrix(tabled(t, dir), nil, dir)
	var got []string
	for _, row := range d.Grid.Rows {
		for n, c := range row.Cells {
			got = append(got, fmt.Sprintf("%s %s %s, %s %t [%s] %s", row.Name, d.Grid.Columns[n], c.Expected, c.Seen, c.Differs,
				strings.Join(c.Cases, ","), c.Outcome))
		}
	}
	want := []string{"bug-a v2.3.7 bad, shown false [case-0] violated", "bug-a v2.4.2 ok, held false [case-1] held",
		"bug-b v2.3.7 ok, shown true [case-2] violated", "bug-b v2.4.2 bad, held true [] held"}
	must.Equal(t, strings.Join(got, "\n"), strings.Join(want, "\n"))
	must.Equal(t, d.Lacks, "")
	cut := tabled(t, t.TempDir())
	delete(cut.Cells, matrix.Key{Bug: "bug-b", Release: "v2.4.2"})
	if d := report.Matrix(cut, nil, dir); d.Lacks != "1 of 4 cells have not run" || d.Grid.Rows[1].Cells[1].Seen != "" {
		t.Errorf("%q: %+v", d.Lacks, d.Grid.Rows[1].Cells[1])
	}
}

// Evidence is found where the folder is now.
func TestEvidenceOfAFolderThatWasMoved(t *testing.T) {
	dir := t.TempDir()
	here := filepath.Join(dir, "evidence", "x-w1")
	must.Succeed(t, os.MkdirAll(here, 0o755))
	for was, want := range map[string]string{"": "", "/elsewhere/evidence/x-w1": here, "/elsewhere/y": ""} {
		must.Equal(t, report.EvidenceIn(dir, was), want, was)
	}
}

// A link in the place of the folder of evidence leads to another user's files.
func TestEvidenceOfALinkIsNotLookedAt(t *testing.T) {
	dir, other := t.TempDir(), t.TempDir()
	must.Succeed(t, os.Mkdir(filepath.Join(other, "x-w1"), 0o755))
	must.Succeed(t, os.Symlink(other, filepath.Join(dir, "evidence")))
	must.Equal(t, report.EvidenceIn(dir, "/elsewhere/evidence/x-w1"), "", "is looked at")
}

// Known clusters are ordered by severity, and then by their number of cases.
func TestTheSeverestOfWhatIsKnownComesFirst(t *testing.T) {
	all := []report.Cluster{{ID: "often", State: report.Known, Severity: catalogue.Low, Cases: []string{"1", "2", "3"}},
		{ID: "unknown-severity", State: report.Known}, {ID: "bad", State: report.Known, Severity: catalogue.Critical},
		{ID: "bad-and-often", State: report.Known, Severity: catalogue.Critical, Cases: []string{"4"}},
		{ID: "fresh", State: report.New}}
	report.SortClusters(all)
	var got []string
	for _, c := range all {
		got = append(got, c.ID)
	}
	must.Equal(t, strings.Join(got, " "), "fresh bad-and-often bad often unknown-severity", got)
}

// A file of histories that was lost is an error, and no report of nothing.
func TestReportWithoutItsHistories(t *testing.T) {
	table := matrix.Table{
		Releases: []string{"v2.3.7"},
		Bugs:     []catalogue.Bug{{ID: "a"}},
		Cells: map[matrix.Key]matrix.Cell{
			{Bug: "a", Release: "v2.3.7"}: {
				Bug:       "a",
				Release:   "v2.3.7",
				Seen:      matrix.Shown,
				Histories: []harness.Part{{Len: 9}},
			}},
	}
	must.Fail(t, report.Write(t.TempDir(), report.Matrix(table, nil, t.TempDir())), "a report was written")
	dir := t.TempDir()
	keptIn(t, dir, ran("x"))
	if err := report.Write(t.TempDir(), report.Matrix(table, nil, dir)); !errors.Is(err, harness.ErrNoHistory) &&
		(err == nil || !strings.Contains(err.Error(), "cut off")) {
		t.Errorf("a part of a history: %v", err)
	}
}
