package report_test

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/onsi/ginkgo/v2/reporters"

	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/must"
	"github.com/shimquake/shimquake/oracle/event"
	"github.com/shimquake/shimquake/oracle/finding"
	"github.com/shimquake/shimquake/oracle/rate"
	"github.com/shimquake/shimquake/report"
	"github.com/shimquake/shimquake/sweep/compare"
	"github.com/shimquake/shimquake/sweep/journal"
	"github.com/shimquake/shimquake/sweep/triage"
)

// find is the first item with a mark in a lane of a kind.
func find(t report.Timeline, kind report.Kind, mark report.Mark) *report.Item {
	for n, i := range t.Items {
		if i.Lane >= 0 && t.Lanes[i.Lane].Kind == kind && i.Mark == mark {
			return &t.Items[n]
		}
	}
	return nil
}

func TestTimelineMarksWhatMatters(t *testing.T) {
	line := report.NewTimeline(leaked("x"), nil)
	if i := find(line, report.Faults, report.Injured); i == nil || i.At != 300*time.Millisecond {
		t.Errorf("the fault: %+v", i)
	}
	if i := find(line, report.Shim, report.Injured); i == nil || i.Took != time.Millisecond {
		t.Errorf("the call that it was done to: %+v", i)
	}
	if i := find(line, report.Shim, report.Left); i == nil || i.At != 320*time.Millisecond || i.Took != 6*time.Second {
		t.Errorf("the shim that is left: %+v", i)
	}
	line = report.NewTimeline(lied(t, "x"), nil)
	if i := find(line, report.Events, report.Wrong); i == nil || !strings.Contains(i.Text, "255") {
		t.Errorf("the wrong exit status: %+v", i)
	}
	held := report.NewTimeline(ran("x"), nil)
	for _, i := range held.Items {
		if i.Mark == report.Injured || i.Mark == report.Left || i.Mark == report.Wrong || i.Mark == report.Failed {
			t.Errorf("a run in which nothing is wrong has %+v", i)
		}
	}
	if line := report.NewTimeline(harness.Verdict{}, nil); len(line.Items) != 0 {
		t.Errorf("without a history: %+v", line)
	}
}

// A call with the fault at its end has begun before the fault.
func TestTimesAreCountedFromTheFault(t *testing.T) {
	v := leaked("x")
	h := v.History
	h.Hits[3].Fault, h.Hits[3].Did = -1, "off"
	h.Hits[4].Fault, h.Hits[4].Did = 0, "error"
	with, without := report.NewTimeline(v, nil), report.NewTimeline(ran("y"), nil)
	if at, ok := with.Fault(); !ok || at != 301*time.Millisecond {
		t.Errorf("the fault is at %v, %t", at, ok)
	}
	report.MarkDifferences(&with, &without)
	if i := find(with, report.Shim, report.Injured); i == nil || i.At != 300*time.Millisecond || !i.Parted {
		t.Errorf("the call that it was done to: %+v", i)
	}
	if at, ok := without.Fault(); ok {
		t.Errorf("a run without a fault has one at %v", at)
	}
}

func TestLogLinesAreChosen(t *testing.T) {
	log := `time="2026-11-22T06:33:04.3Z" level=info msg="starting"
time="2026-11-22T06:33:04.301Z" level=warning msg="failed to shutdown shim task" error="injected"
goroutine 1 [running]: "
time="2026-11-22T06:33:05Z" level=error msg="lost"
`
	line := report.NewTimeline(leaked("x"), []byte(log))
	var got []string
	for _, i := range line.Items {
		if i.Lane >= 0 && line.Lanes[i.Lane].Kind == report.Log {
			got = append(got, i.Text+"/"+string(i.Mark))
		}
	}
	must.Equal(t, strings.Join(got, " "), "failed to shutdown shim task/ lost/error")
}

func TestWhereTwoRunsPart(t *testing.T) {
	with, without := report.NewTimeline(leaked("x"), nil), report.NewTimeline(ran("y"), nil)
	report.MarkDifferences(&with, &without)
	names := func(line report.Timeline) (all []string) {
		for _, i := range line.Items {
			if i.Parted {
				all = append(all, i.Text)
			}
		}
		return all
	}
	must.Equal(t, strings.Join(names(without), ", "), "Task.Shutdown c0, ends with 0", "only without the fault")
	got := strings.Join(names(with), ", ")
	if !strings.Contains(got, "LEFT: shim 27") || strings.Contains(got, "create") {
		t.Errorf("only with the fault: %s", got)
	}
	one, other := report.NewTimeline(ran("x"), nil), report.NewTimeline(ran("y"), nil)
	if report.MarkDifferences(&one, &other); len(names(one))+len(names(other)) > 0 {
		t.Errorf("two runs of one workload part: %v, %v", names(one), names(other))
	}
}

// The first line names the leaked shim, and when the shim of the run without the fault
// ended. The two runs reach the fault's place at different times.
func TestLead(t *testing.T) {
	fixed := func(v harness.Verdict) harness.Verdict { // some ms earlier, by a shim with another pid
		for i := range v.History.Hits {
			if h := &v.History.Hits[i]; h.Who == "shim" {
				h.PID = 28
			}
			v.History.Hits[i].Time = v.History.Hits[i].Time.Add(-9 * time.Millisecond)
		}
		v.History.Exits[0] = harness.Exit{PID: 28, At: at(294)}
		return v
	}
	for name, c := range map[string]struct {
		with harness.Verdict
		want string
	}{
		"a shim": {leaked("x"), "Without the fault, shim 28 ends with 0, 3 ms after Task.Shutdown c0. " +
			"Here, shim 27 still runs 6 s after the client's last call."},
		"an exit status": {lied(t, "x"), ""}, // the finding itself has both statuses
		"nothing":        {ran("x"), ""},
	} {
		with, without := report.NewTimeline(c.with, nil), report.NewTimeline(fixed(ran("y")), nil)
		report.MarkDifferences(&with, &without)
		got := report.MainDifference(&with, &without)
		must.Equal(t, got, c.want, name)
		if name != "a shim" {
			continue
		}
		var only []string
		for _, i := range without.Items {
			if i.Parted {
				only = append(only, i.Text)
			}
		}
		must.Equal(t, strings.Join(only, ", "), "Task.Shutdown c0, ends with 0", "only without the fault")
	}
}

// An event that arrived after the end of the shorter run may be in both.
func TestTheEndOfTheShorterRun(t *testing.T) {
	late := event.Task{Topic: "/tasks/delete", Container: "c0", PID: 50, Status: 7, Sent: at(330), Seen: at(350)}
	v := leaked("x")
	v.History.Events = append(v.History.Events, late)
	for took, want := range map[time.Duration]bool{340 * time.Millisecond: false, 7 * time.Second: true} {
		short := ran("y")
		short.History.Took = took
		with, without := report.NewTimeline(v, nil), report.NewTimeline(short, nil)
		report.MarkDifferences(&with, &without)
		parted := slices.ContainsFunc(with.Items, func(i report.Item) bool { return i.Parted && i.Text == "delete c0: 7" })
		must.Equal(t, parted, want, "a run of", took, "the event is only with the fault")
	}
}

// The timeline does not show a fault that had no effect as a fault that happened. A
// misbehaviour of the fake shim is drawn.
func TestFaultsThatAreDrawn(t *testing.T) {
	missed := leaked("x")
	missed.History.Firings[0].Count = 0
	if i := find(report.NewTimeline(missed, nil), report.Faults, report.Injured); i != nil {
		t.Errorf("a fault that did not fire: %+v", i)
	}
	fake := ran("x")
	fake.History.Firings = []harness.Firing{{Fault: -1, Text: "fakeshim delete-hangs", Count: 1, At: at(290)}}
	if i := find(report.NewTimeline(fake, nil), report.Faults, report.Injured); i == nil || i.At != 290*time.Millisecond {
		t.Errorf("a misbehaviour: %+v", i)
	}
}

// written returns the folder of a report with a new, a known and a held case.
func written(t testing.TB) string {
	t.Helper()
	dir := t.TempDir()
	evidence := filepath.Join(dir, "evidence", "x")
	must.Succeed(t, os.MkdirAll(evidence, 0o755))
	fresh := leaked("shutdown-error-once")
	fresh.Evidence = evidence
	var cases []report.Case
	for n, v := range []harness.Verdict{fresh, lied(t, "known-<case>"), ran("fine")} {
		cases = append(cases, report.Case{ID: []string{"case-1", "case-2", "case-3"}[n], Verdict: v, Workload: "task",
			Replay: report.Replay(v), Without: "plain"})
	}
	d := report.Data{
		Title: "Report of <b>tests</b>", Made: began, Cases: report.All(cases),
		Without: map[string]harness.Verdict{"plain": ran("plain")},
		Clusters: []report.Cluster{
			{ID: "shim-left", State: report.New, Title: "a shim is left", Cases: []string{"case-1"}},
			{ID: "reported-wrong", State: report.Known, Title: "an event lies | often", Cases: []string{"case-2"}},
		},
	}
	must.Succeed(t, report.Write(dir, d))
	return dir
}

func TestResultsAreWholeAndVersioned(t *testing.T) {
	text := must.Get(os.ReadFile(filepath.Join(written(t), report.ResultsFile)))(t)
	var types []string
	for line := range bytes.Lines(text) {
		var l struct {
			Type     string
			Format   int
			Verdict  string
			Evidence string
			Findings []finding.Finding
			Clusters []string
		}
		must.Succeed(t, json.Unmarshal(line, &l))
		types = append(types, l.Type)
		switch {
		case l.Type == "head" && l.Format != report.ResultsFormat:
			t.Errorf("%s", line)
		case l.Verdict == "violated" && (len(l.Findings) != 1 || len(l.Clusters) != 1):
			t.Errorf("%s", line)
		case l.Evidence != "" && l.Evidence != "evidence/x":
			t.Errorf("evidence is %s: it cannot be moved", l.Evidence)
		}
	}
	must.Equal(t, strings.Join(types, " "), "head case case case cluster cluster end")
}

func TestJUnitTellsNewFromKnown(t *testing.T) {
	text := must.Get(os.ReadFile(filepath.Join(written(t), report.JUnitFile)))(t)
	var all reporters.JUnitTestSuites
	must.Succeed(t, xml.Unmarshal(text, &all))
	cases := all.TestSuites[0].TestCases
	if all.Tests != 3 || all.Failures != 1 || cases[0].Failure == nil || cases[1].Skipped == nil ||
		cases[1].Failure != nil || cases[2].Skipped != nil {
		t.Errorf("%s", text)
	}
}

func TestSummary(t *testing.T) {
	text := must.Get(os.ReadFile(filepath.Join(written(t), report.SummaryFile)))(t)
	wants := []string{"**2 violated**, 1 held", "| new | a shim is left |", `an event lies \| often`, "&lt;b&gt;"}
	for _, want := range wants {
		must.Contain(t, string(text), want)
	}
}

func TestPageHoldsNoForeignMarkup(t *testing.T) {
	text := must.Get(os.ReadFile(filepath.Join(written(t), report.HTMLFile)))(t)
	if bytes.Contains(text, []byte("<b>tests</b>")) {
		t.Error("the title is taken for markup")
	}
	for _, bad := range []string{`src="http`, `href="http`, "@import"} {
		if bytes.Contains(text, []byte(bad)) {
			t.Errorf("the page loads %s: it does not open offline", bad)
		}
	}
}

// The table of a comparison marks the side that shows a finding, and leads to its runs.
func TestCompare(t *testing.T) {
	left := []triage.Signature{{Invariant: finding.Leak, Class: finding.ClassShim}}
	row := func(kind compare.Kind, on string, a, b rate.Odds) compare.Row {
		return compare.Row{Kind: kind, On: on, Left: left, Cases: []compare.Case{{Spec: 3, A: a, B: b}}}
	}
	rep := compare.Report{A: "v2.4.2", B: "v2.4.2+x", Rows: []compare.Row{
		row(compare.Opened, "B", rate.Odds{Runs: 3}, rate.Odds{Shown: 3, Runs: 3}),
		row(compare.Closed, "A", rate.Odds{Shown: 2, Runs: 3}, rate.Odds{Runs: 3}),
		row(compare.Same, "A", rate.Odds{Shown: 1, Runs: 1}, rate.Odds{Shown: 1, Runs: 1}),
		row(compare.Opened, "B", rate.Odds{}, rate.Odds{Shown: 1, Runs: 1}),
	}}
	both := rate.Odds{Shown: 1, Runs: 1}
	rep.Rows[2].Cases = append(rep.Rows[2].Cases, compare.Case{Spec: 4, A: both, B: both}) // not listed
	d, n := report.Compare(journal.Head{}, rep)
	got := []string{fmt.Sprint(n, " cases")}
	for _, r := range d.Grid.Rows {
		for _, c := range r.Cells {
			got = append(got, fmt.Sprint(r.Name, " ", c.Seen, " ", c.Shown, c.Runs, " ", c.Differs, " ", c.Cases))
		}
	}
	want := []string{
		"2 cases", "1 opened held 0 3 false [case-3]", "1 opened shown 3 3 true [case-3-b]",
		"2 closed shown 2 3 true [case-3]", "2 closed held 0 3 false [case-3-b]",
		"3 same shown 2 2 false [case-3]", "3 same shown 2 2 false [case-3-b]",
		"4 opened - 0 0 false []", "4 opened shown 1 1 true [case-3-b]",
	}
	if !d.Grid.Compares || !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}
