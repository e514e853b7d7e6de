package page

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/shimquake/shimquake/catalogue"
	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/must"
	"github.com/shimquake/shimquake/oracle/affected"
	"github.com/shimquake/shimquake/oracle/finding"
	"github.com/shimquake/shimquake/oracle/wording"
	"github.com/shimquake/shimquake/sweep/matrix"
)

const root = "../.."

func TestPagesAreFresh(t *testing.T) {
	stale := must.Get(Stale(root))(t)
	if len(stale) > 0 {
		t.Errorf("%v are not what catalogue/bugs/ makes: run make docs", stale)
	}
}

// Stale reports a changed page, a missing page and a page without a bug. Write repairs
// all three.
func TestStale(t *testing.T) {
	dir := t.TempDir()
	must.Succeed(t, os.WriteFile(filepath.Join(dir, "README.md"), []byte("a\n"+Begin+"\n"+End+"\nz\n"), 0o644))
	expect := func(want ...string) {
		t.Helper()
		got := must.Get(Stale(dir))(t)
		must.Equal(t, got, want)
	}
	write := func() {
		t.Helper()
		must.Succeed(t, Write(dir))
		expect()
	}
	write()
	one := Dir + "/" + catalogue.Bugs()[0].ID + ".md"
	for name, spoil := range map[string]func(path string) error{
		one:                   os.Remove,
		Dir + "/README.md":    func(path string) error { return os.WriteFile(path, []byte("x"), 0o644) },
		Dir + "/forgotten.md": func(path string) error { return os.WriteFile(path, nil, 0o644) },
	} {
		must.Succeed(t, spoil(filepath.Join(dir, name)))
		expect(name)
		write()
	}
	text, err := os.ReadFile(filepath.Join(dir, "README.md"))
	if err != nil || !strings.HasPrefix(string(text), "a\n") || !strings.HasSuffix(string(text), "\nz\n") {
		t.Errorf("README lost the text around its table: %v\n%s", err, text)
	}
}

// A page without words for a finding would show only its facts.
func TestEveryFindingHasWords(t *testing.T) {
	for _, b := range catalogue.Bugs() {
		all := slices.Concat(b.Left, b.May)
		if r := b.Residue; r != nil {
			all = append(all, finding.Match{Class: r.Class, Facts: r.Match})
		}
		for _, m := range all {
			if wording.Match(m) == "" {
				t.Errorf("%s: %s has no words", b.ID, m)
			}
		}
	}
}

func TestReadmeNeedsItsMarks(t *testing.T) {
	for _, old := range []string{"", Begin + "\n", End} {
		must.Fail(t, must.ErrorOf(Readme(old, catalogue.BySeverity())), old, "was accepted")
	}
}

func TestTextsFitOnAScreen(t *testing.T) {
	texts := map[string]string{"the list": List(catalogue.BySeverity())}
	for _, b := range catalogue.Bugs() {
		texts[b.ID] = Text(b)
		if n := strings.Count(Markdown(b), "\n"); n > 45 {
			t.Errorf("%s: its page has %d lines", b.ID, n)
		}
	}
	for name, text := range texts {
		for line := range strings.Lines(text) {
			// A line of one or two words, such as a log pattern, cannot be wrapped.
			if n := utf8.RuneCountInString(strings.TrimSpace(line)); n > width && len(strings.Fields(line)) > 2 {
				t.Errorf("%s: %d columns: %s", name, n, line)
			}
		}
	}
}

func TestTheWorstComeFirst(t *testing.T) {
	index := Index(catalogue.BySeverity())
	top, _, _ := strings.Cut(index, "\n## Critical")
	for _, id := range []string{"cri-forgets-an-exit", "created-task-not-cleaned", "shim-not-loaded"} {
		must.Contain(t, top, "("+id+".md)", "the first screen")
	}
}

// The matrix comes from a real run. It has every bug with a case, and each cell has the
// result that the catalogue expects today. After a change of the catalogue, run the bug
// again (shimquake matrix --markdown).
func TestTheMatrixIsOfTodaysCatalogue(t *testing.T) {
	text := must.Get(os.ReadFile(filepath.Join(root, Matrix)))(t)
	rows, stale := stale(string(text), catalogue.Bugs())
	for _, s := range stale {
		t.Errorf("%s: make the page anew with shimquake matrix --markdown, or correct the catalogue", s)
	}
	if rows == 0 {
		t.Error("the page has no row")
	}
}

// stale returns the number of rows in a matrix, and an error text for each row or cell
// that does not fit these bugs.
func stale(text string, bugs []catalogue.Bug) (rows int, stale []string) {
	due := map[string]catalogue.Bug{}
	for _, b := range bugs {
		if len(b.Cases) > 0 {
			due[fmt.Sprintf("[`%s`](%[1]s.md)", b.ID)] = b
		}
	}
	var releases []string
	for line := range strings.Lines(text) {
		cells := strings.Split(strings.Trim(line, "| \n"), " | ")
		b, ok := due[cells[0]]
		switch {
		case !strings.HasPrefix(line, "| "):
		case releases == nil:
			releases = cells[1:]
		case !ok || len(cells) != len(releases)+1:
			stale = append(stale, fmt.Sprintf("%q is no row of a bug with a case, in %d columns", line, len(releases)+1))
		default:
			rows++
			delete(due, cells[0])
			for i, is := range cells[1:] {
				if want := matrix.Expect(b, releases[i]); !fresh(is, want) {
					stale = append(stale, fmt.Sprintf("%s on %s is %q, and the catalogue says %q", b.ID, releases[i], is, want))
				}
			}
		}
	}
	for _, b := range due {
		stale = append(stale, b.ID+" has no row")
	}
	return rows, stale
}

// fresh reports whether a cell has the expected result. The matrix writes unexpected
// results in capitals.
func fresh(is string, want matrix.Expected) bool {
	if is == string(matrix.NoPoint) {
		return want != matrix.Bad
	}
	return strings.HasPrefix(is, string(want)+", ") && is == strings.ToLower(is)
}

func TestStaleCells(t *testing.T) {
	b := catalogue.Bug{ID: "b", Cases: []harness.Case{{Name: "b"}}, Releases: affected.Releases{
		"1.7": {Unknown: "its case does not reach the code"}, "2.3": {Bad: "v2.3.7"}, "2.4": {Fixed: "v2.4.0"}}}
	must.Table(t, "testdata/stale.txt", func(row string) string {
		_, all := stale("| bug | v1.7.35 | v2.3.7 | v2.4.2 |\n"+row+"\n", []catalogue.Bug{b})
		return strings.Join(all, "; ")
	})
}

// An untested release is listed as untested, and not as free of the bug.
func TestReleasesSayWhatIsNotKnown(t *testing.T) {
	got := catalogue.ReleasesText(affected.Releases{
		"1.7": {Seen: "v1.7.35"}, "1.8": {Unknown: "its case does not reach the code"},
		"2.0": {Unknown: "its case does not reach the code"}, "2.1": {Held: "v2.1.9"},
		"2.2": {Since: "v2.2.3", Held: "v2.2.2", Bad: "v2.2.9"}, "2.3": {Seen: "v2.3.1", Bad: "v2.3.7", Fixed: "v2.3.8"},
		"2.4": {Held: "v2.4.2"},
	})
	want := "affected: v1.7.35, v2.2.3 to v2.2.9, v2.3.1 to v2.3.7\n" +
		"not affected: v2.2.0 to v2.2.2, 2.3 from v2.3.8; 2.1 and 2.4 (tested: v2.1.9, v2.4.2)\n" +
		"unknown: before 1.7 (not tested); 1.8 and 2.0 (its case does not reach the code); " +
		"earlier releases of 1.7 and 2.3 (not tested)"
	must.Equal(t, got, want)
}
