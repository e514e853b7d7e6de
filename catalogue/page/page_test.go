package page

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/shimquake/shimquake/catalogue"
)

const root = "../.."

func TestPagesAreFresh(t *testing.T) {
	stale, err := Stale(root)
	if err != nil {
		t.Fatal(err)
	}
	if len(stale) > 0 {
		t.Errorf("%v are not what catalogue/bugs/ makes: run make docs", stale)
	}
}

// A page that is changed, one that is missing and one that is too many are each seen, and
// made right.
func TestStale(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "README.md"), []byte("a\n"+Begin+"\n"+End+"\nz\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	expect := func(want ...string) {
		t.Helper()
		got, err := Stale(dir)
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%v (%v), want %v", got, err, want)
		}
	}
	write := func() {
		t.Helper()
		if err := Write(dir); err != nil {
			t.Fatal(err)
		}
		expect()
	}
	write()
	one := Dir + "/" + catalogue.Bugs()[0].ID + ".md"
	for name, spoil := range map[string]func(path string) error{
		one:                   os.Remove,
		Dir + "/README.md":    func(path string) error { return os.WriteFile(path, []byte("x"), 0o644) },
		Dir + "/forgotten.md": func(path string) error { return os.WriteFile(path, nil, 0o644) },
	} {
		if err := spoil(filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
		expect(name)
		write()
	}
	text, err := os.ReadFile(filepath.Join(dir, "README.md"))
	if err != nil || !strings.HasPrefix(string(text), "a\n") || !strings.HasSuffix(string(text), "\nz\n") {
		t.Errorf("README lost what stands around its table: %v\n%s", err, text)
	}
}

func TestReadmeNeedsItsMarks(t *testing.T) {
	for _, old := range []string{"", Begin + "\n", End} {
		if _, err := Readme(old, catalogue.BySeverity()); err == nil {
			t.Errorf("%q was taken", old)
		}
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
			// A pattern or a point has no place to be broken.
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
		if !strings.Contains(top, "["+id+"]") {
			t.Errorf("%s is not on the first screen:\n%s", id, top)
		}
	}
}

// The matrix is of a real run: its form is checked, and that its bugs are known.
func TestFormOfTheMatrix(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(root, Matrix))
	if err != nil {
		t.Fatal(err)
	}
	rows, columns := 0, 0
	for line := range strings.Lines(string(text)) {
		if !strings.HasPrefix(line, "|") {
			continue
		}
		if columns == 0 {
			columns = strings.Count(line, "|")
		}
		id, _, link := strings.Cut(strings.TrimPrefix(line, "| ["), "]")
		if _, err := catalogue.FindBug(id); link && err != nil || strings.Count(line, "|") != columns {
			t.Errorf("%s: %v, and %d columns", line, err, columns)
		}
		rows++
	}
	if rows < 10 {
		t.Errorf("%d rows: make it anew with shimquake matrix --markdown", rows)
	}
}
