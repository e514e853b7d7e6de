package report_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/shimquake/shimquake/must"
	"github.com/shimquake/shimquake/report"
)

// answered writes a report with the result of a question.
func answered(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	d := report.Data{Title: "Repro", Made: began, Cases: report.All([]report.Case{{ID: "case-1", Verdict: leaked("x")}}),
		Answers: []report.Part{
			{Head: "REPRODUCED: bug-7", Rows: []report.Row{{Name: "workaround:", Text: "wait"}}}, {Head: "also tried:"},
		},
		Clusters: []report.Cluster{{ID: "bug-7", State: report.Known, Title: "a shim is left", Cases: []string{"case-1"}}}}
	must.Succeed(t, report.Write(dir, d))
	return dir
}

// The result of the question comes first, and there is no line that nothing is new.
func TestSummaryAnswers(t *testing.T) {
	text := must.Get(os.ReadFile(filepath.Join(answered(t), report.SummaryFile)))(t)
	if !strings.Contains(string(text), "**REPRODUCED: bug-7**\n\n- workaround: wait\n") ||
		strings.Contains(string(text), "Nothing is new") {
		t.Errorf("%s", text)
	}
}

func TestPageAnswers(t *testing.T) {
	b := newTab(t)
	for _, s := range screens {
		b.use(s)
		b.open(filepath.Join(answered(t), report.HTMLFile), "")
		got := get[string](b, `document.querySelector('#clusters').innerText`)
		if !strings.HasPrefix(got, "REPRODUCED: bug-7\nworkaround\nwait\nalso tried\nWhat was run\n") {
			t.Errorf("%s: %q", s.name, got)
		}
	}
}
