package report_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/shimquake/shimquake/must"
	"github.com/shimquake/shimquake/report"
)

// In no form of the report does an interrupted sweep look like a sweep without
// findings: its report is read.
func TestEveryFormTellsWhatIsLacking(t *testing.T) {
	for lacks, want := range map[string]bool{"": false, "9 of 10 planned cases have no result": true} {
		dir := t.TempDir()
		cases := report.All([]report.Case{{ID: "case-1", Verdict: ran("fine"), Workload: "task"}})
		known := []report.Cluster{{ID: "reported-wrong", State: report.Known, Title: "an event lies"}}
		must.Succeed(t, report.Write(dir, report.Data{Title: "x", Made: began, Cases: cases, Clusters: known,
			Lacks: lacks}))
		for file, sign := range map[string]string{
			report.HTMLFile:    `"lacks":"9 of 10`,
			report.SummaryFile: "**CUT OFF: 9 of 10",
			report.ResultsFile: `"lacks":"9 of 10`,
			report.JUnitFile:   `errors="1"`,
		} {
			text := must.Get(os.ReadFile(filepath.Join(dir, file)))(t)
			must.Equal(t, bytes.Contains(text, []byte(sign)), want, lacks, file, "has", sign)
			if want && bytes.Contains(text, []byte("Nothing is new.")) {
				t.Errorf("%s says that nothing is new", file)
			}
		}
	}
}
