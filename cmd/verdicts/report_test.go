package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/onsi/ginkgo/v2/types"

	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/report"
)

// specsIn writes a Ginkgo report, and the histories that its specs name.
func specsIn(t *testing.T, dir string) string {
	t.Helper()
	if err := os.MkdirAll(filepath.Join(dir, historiesDir), 0o755); err != nil {
		t.Fatal(err)
	}
	h, err := harness.OpenHistories(filepath.Join(dir, historiesDir, "p1"))
	if err != nil {
		t.Fatal(err)
	}
	spec := func(name string, state types.SpecState, message string, c specCase) types.SpecReport {
		v := harness.Verdict{History: &harness.History{Case: harness.Case{Name: "x"}, Version: "v2.4.2"}}
		at, err := h.Keep(v)
		if err != nil {
			t.Fatal(err)
		}
		c.File, c.At = "p1", at
		if c.Outcome == harness.Violated {
			c.Without = at
		}
		return types.SpecReport{LeafNodeType: types.NodeTypeIt, LeafNodeText: name, State: state, RunTime: time.Second,
			Failure: types.Failure{Message: message}, ReportEntries: types.ReportEntries{
				{Name: verdictEntry, Value: types.WrapEntryValue(c)}}}
	}
	specs, err := json.Marshal([]types.Report{{SuitePath: "/x/suites/shutdown", SuiteSucceeded: true,
		SpecReports: types.SpecReports{
			spec("holds", types.SpecStatePassed, "", specCase{Outcome: harness.Held}),
			spec("is known", types.SpecStatePassed, "", specCase{Outcome: harness.Violated, Known: "containerd#8981"}),
			spec("is wanted", types.SpecStatePassed, "", specCase{Outcome: harness.Invalid}),
			spec("fails", types.SpecStateFailed, "a shim is left", specCase{Outcome: harness.Violated}),
			{LeafNodeType: types.NodeTypeIt, LeafNodeText: "panics", State: types.SpecStatePanicked},
		}}})
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "specs.json")
	if err := os.WriteFile(file, specs, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := h.Close(); err != nil {
		t.Fatal(err)
	}
	return file
}

func TestReportOfSuites(t *testing.T) {
	dir := t.TempDir()
	if err := run(params{specs: specsIn(t, dir), specsExit: 1, report: dir}, nil, nil); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(filepath.Join(dir, report.ResultsFile))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	var got []string
	cases := 0
	for d := json.NewDecoder(f); d.More(); {
		var l struct {
			Type, State, Title string
			Cases              any
		}
		if err := d.Decode(&l); err != nil {
			t.Fatal(err)
		}
		switch l.Type {
		case "cluster":
			got = append(got, l.State+": "+l.Title)
		case "case":
			cases++
		}
	}
	want := []string{"new: shutdown: fails", "known: containerd#8981",
		"known: Not held, as the spec expects: it breaks something on purpose"}
	if cases != 4 || !slices.Equal(got, want) {
		t.Errorf("%d cases, clusters %q, want %q", cases, got, want)
	}
	summary, err := os.ReadFile(filepath.Join(dir, report.SummaryFile))
	if err != nil || !strings.Contains(string(summary), "3 passed, 2 failed") ||
		!strings.Contains(string(summary), "Failed without a case: shutdown: panics") {
		t.Errorf("%v: %s", err, summary)
	}
}

// Missing histories are an error: a report without them would look complete.
func TestReportOfSuitesWithoutHistories(t *testing.T) {
	dir := t.TempDir()
	file := specsIn(t, dir)
	if err := os.RemoveAll(filepath.Join(dir, historiesDir)); err != nil {
		t.Fatal(err)
	}
	if err := run(params{specs: file, report: dir}, nil, nil); err == nil {
		t.Error("a report was written")
	}
}
