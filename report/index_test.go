package report_test

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/shimquake/shimquake/must"
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
	must.Equal(t, len(made), 8, "folders of 8 runs")
}

// The index has each report, the newest first, and quotes what others wrote.
func TestIndex(t *testing.T) {
	dir := t.TempDir()
	for i, title := range []string{"the older", "the <b>newer\u202e"} {
		made := began.Add(time.Duration(i) * time.Hour)
		folder := must.Get(report.NewFolder(dir, "x", made))(t)
		d := report.Data{Title: title, Made: made, Cases: report.All([]report.Case{{ID: "case-1", Verdict: leaked("x")}})}
		must.Succeed(t, report.Write(folder, d))
	}
	cut := filepath.Join(dir, "cut")
	must.Succeed(t, os.Mkdir(cut, 0o755))
	must.Get(report.Begin(cut, report.Data{Title: "one that runs", Made: began}))(t)
	must.Succeed(t, os.Mkdir(filepath.Join(dir, "evidence"), 0o755))
	must.Succeed(t, report.WriteIndex(dir))
	text := must.Get(os.ReadFile(filepath.Join(dir, report.IndexFile)))(t)
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
	must.Succeed(t, os.MkdirAll(evidence, 0o755))
	v := leaked("x")
	v.Evidence = evidence
	d := report.Data{Title: "x", Made: began, Evidence: filepath.Join(dir, "evidence"),
		Cases: report.All([]report.Case{{ID: "case-1", Verdict: v}})}
	must.Succeed(t, report.Write(filepath.Join(dir, "run"), d))
	text := must.Get(os.ReadFile(filepath.Join(dir, "run", report.ResultsFile)))(t)
	must.Contain(t, string(text), `"evidence":"../evidence/x"`)
}
