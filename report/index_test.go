package report_test

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/shimquake/shimquake/report"
)

// Two runs that begin at the same time have different folders.
func TestNewFolder(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "out")
	var mu sync.Mutex
	var all sync.WaitGroup
	made := map[string]bool{}
	for range 8 {
		all.Go(func() {
			got, err := report.NewFolder(dir, "../A case", began)
			mu.Lock()
			defer mu.Unlock()
			if err != nil || filepath.Dir(got) != dir || !strings.HasPrefix(filepath.Base(got), "20261122-063304-a-case") {
				t.Errorf("%q, %v", got, err)
			}
			made[got] = true
		})
	}
	all.Wait()
	if len(made) != 8 {
		t.Errorf("8 runs have %d folders", len(made))
	}
}

// The index has each report, the newest first, and quotes what others wrote.
func TestIndex(t *testing.T) {
	dir := t.TempDir()
	for i, title := range []string{"the older", "the <b>newer\u202e"} {
		made := began.Add(time.Duration(i) * time.Hour)
		folder, err := report.NewFolder(dir, "x", made)
		if err != nil {
			t.Fatal(err)
		}
		d := report.Data{Title: title, Made: made, Cases: report.All([]report.Case{{ID: "case-1", Verdict: leaked("x")}})}
		if err := report.Write(folder, d); err != nil {
			t.Fatal(err)
		}
	}
	cut := filepath.Join(dir, "cut")
	if err := os.Mkdir(cut, 0o755); err != nil {
		t.Fatal(err)
	}
	if _, err := report.Begin(cut, report.Data{Title: "one that runs", Made: began}); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(dir, "evidence"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := report.WriteIndex(dir); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(dir, report.IndexFile))
	if err != nil {
		t.Fatal(err)
	}
	page := string(text)
	newer, older := strings.Index(page, "the &lt;b&gt;newer"), strings.Index(page, "the older")
	if newer < 0 || older < newer || strings.Count(page, "<li>") != 3 || !strings.Contains(page, "not ended") ||
		!strings.Contains(page, `href="./20261122-073304-x/report.html"`) || strings.Contains(page, "\u202e") ||
		!strings.Contains(page, "0 held, 1 violated, 0 invalid") {
		t.Errorf("%s", page)
	}
}

// Evidence beside the report's folder is linked to.
func TestEvidenceBesideTheReport(t *testing.T) {
	dir := t.TempDir()
	evidence := filepath.Join(dir, "evidence", "x")
	if err := os.MkdirAll(evidence, 0o755); err != nil {
		t.Fatal(err)
	}
	v := leaked("x")
	v.Evidence = evidence
	d := report.Data{Title: "x", Made: began, Evidence: filepath.Join(dir, "evidence"),
		Cases: report.All([]report.Case{{ID: "case-1", Verdict: v}})}
	if err := report.Write(filepath.Join(dir, "run"), d); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(dir, "run", report.ResultsFile))
	if err != nil || !strings.Contains(string(text), `"evidence":"../evidence/x"`) {
		t.Errorf("%v: %s", err, text)
	}
}
