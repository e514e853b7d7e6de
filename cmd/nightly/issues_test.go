package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/extension"

	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/must"
	"github.com/shimquake/shimquake/report"
)

// reported is the folder of a report with these clusters.
func reported(t *testing.T, all ...report.Cluster) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "merged")
	d := report.Data{Title: "x", Made: time.Unix(0, 0), Clusters: all, Cases: report.All(nil)}
	must.Succeed(t, report.Write(dir, d))
	return dir
}

// leaks returns n clusters (groups of equal findings) with a state.
func leaks(state report.State, n int) (all []report.Cluster) {
	for i := range n {
		all = append(all, report.Cluster{ID: fmt.Sprintf("shim-%d", i), Key: fmt.Sprintf("k%d", i), State: state,
			Title: fmt.Sprintf("leak shim: %d", i), Says: []string{"mark x"}, Replay: "shimquake run x.yaml"})
	}
	return all
}

// said runs the program against the fake GitHub, and returns its output.
func (f *fake) said(t *testing.T, args ...string) (string, error) {
	t.Helper()
	c := root()
	var out bytes.Buffer
	c.SetOut(&out)
	c.SetArgs(append([]string{"issues", "--repo", "o/r", "--api", f.URL, "--run", "https://run/1"}, args...))
	err := c.Execute()
	return out.String(), err
}

func (f *fake) must(t *testing.T, args ...string) string {
	t.Helper()
	return must.Get(f.said(t, args...))(t)
}

func TestAFindingHasOneIssue(t *testing.T) {
	f := newFake(t)
	dir := reported(t, append(leaks(report.New, 3), leaks(report.Known, 5)[4], leaks(report.Unreproduced, 4)[3])...)
	if out := f.must(t, dir); !strings.Contains(out, "3 findings, 3 issues opened") || len(f.issues) != 3 {
		t.Fatalf("%s%d issues", out, len(f.issues))
	}
	i := f.issues[0]
	for _, want := range []string{"leak shim: 0", "mark x", "shimquake run x.yaml", "https://run/1"} {
		must.Contain(t, i.Body, want)
	}
	if i.Title != "new: leak shim: 0" || i.Labels[0] != "shimquake-finding" || len(f.labels) != 1 {
		t.Errorf("%+v, labels %v", i, f.labels)
	}
	// The next night finds them again, one of them on the second page.
	must.Contain(t, f.must(t, "--run", "https://run/2", dir, dir), "3 findings, 0 issues")
	if len(f.issues) != 3 || !strings.Contains(f.issues[2].Body, "https://run/2") || len(f.labels) != 1 {
		t.Errorf("%d issues, %s", len(f.issues), f.issues[2].Body)
	}
}

func TestWhatPeopleDidToAnIssue(t *testing.T) {
	for name, c := range map[string]struct {
		spoil    func(*issue)
		state    string
		comments int
		opens    bool // it opens another issue
		keeps    string
	}{
		"wrote beneath": {func(i *issue) { i.Body += "\nIt is the GC." }, "open", 0, false, "\nIt is the GC."},
		"closed it":     {func(i *issue) { i.State, i.StateReason = "closed", "completed" }, "open", 1, false, ""},
		"do not plan it": {func(i *issue) { i.State, i.StateReason = "closed", "not_planned" }, "closed", 0, false,
			"https://run/1"},
		"removed the mark":  {func(i *issue) { i.Body = "mine" }, "open", 0, true, "mine"},
		"removed the label": {func(i *issue) { i.Labels = []string{"other"} }, "open", 0, true, "https://run/1"},
		"made it a PR": {func(i *issue) { i.PullRequest = map[string]string{"url": "x"} }, "open", 0, true,
			"https://run/1"},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFake(t)
			dir := reported(t, leaks(report.New, 1)...)
			f.must(t, dir)
			i := f.issues[0]
			c.spoil(i)
			f.must(t, "--run", "https://run/2", dir)
			if i.State != c.state || len(i.comments) != c.comments || (len(f.issues) == 2) != c.opens ||
				!strings.Contains(i.Body, c.keeps) {
				t.Errorf("%d issues, the first %+v", len(f.issues), i)
			}
			f.must(t, dir)
			if len(f.issues) > 2 || len(i.comments) != c.comments {
				t.Errorf("the third night: %d issues, %d comments", len(f.issues), len(i.comments))
			}
		})
	}
}

// The end of a finding and more of it have separate issues.
func TestStatesHaveIssuesOfTheirOwn(t *testing.T) {
	f := newFake(t)
	f.must(t, reported(t, leaks(report.More, 1)...))
	f.must(t, reported(t, leaks(report.Gone, 1)...))
	must.Len(t, f.issues, 2)
	must.Equal(t, f.issues[1].Title, "gone: leak shim: 0")
}

func TestOfTwoIssuesTheOpenOneCounts(t *testing.T) {
	f := newFake(t)
	dir := reported(t, leaks(report.New, 1)...)
	f.must(t, dir)
	twin := *f.issues[0]
	twin.Number = 2
	f.issues = append(f.issues, &twin)
	f.issues[0].State, f.issues[0].StateReason = "closed", "completed"
	f.must(t, "--run", "https://run/2", dir)
	must.Equal(t, f.issues[0].State, "closed")
	must.Contain(t, twin.Body, "run/2")
}

func TestWhatCannotBeReportedIsRed(t *testing.T) {
	write := func(text string) string {
		dir := t.TempDir()
		must.Succeed(t, os.WriteFile(filepath.Join(dir, report.ResultsFile), []byte(text), 0o644))
		return dir
	}
	whole := must.Get(os.ReadFile(filepath.Join(reported(t, leaks(report.New, 1)...), report.ResultsFile)))(t)
	good := reported(t, leaks(report.New, 3)...)
	for says, args := range map[string][]string{
		"cut off":                        {write(string(whole[:len(whole)-4]))},
		"no such file":                   {t.TempDir()},
		"requires at least 1":            {},
		"2 more findings have no issue":  {"--most", "1", good},
		"--repo owner/name":              {"--repo", "here", good},
		"finding new k1":                 {"--most", "9", good}, // refused below
		"not a file of results":          {write("{}\n")},
		"connection refused|unreachable": {"--api", "http://127.0.0.1:1", good},
	} {
		f := newFake(t)
		if says == "finding new k1" {
			f.refuse = "/issues"
		}
		_, err := f.said(t, args...)
		first, _, _ := strings.Cut(says, "|")
		must.FailWith(t, err, first, says)
		if f.refuse != "" && !strings.Contains(err.Error(), "finding new k2") {
			t.Errorf("the others were not tried: %v", err)
		}
	}
}

func TestDryRunAsksNothing(t *testing.T) {
	f := newFake(t)
	t.Setenv("GITHUB_TOKEN", "")
	out := f.must(t, "--dry-run", reported(t, leaks(report.New, 2)...))
	if f.writes != 0 || !strings.Contains(out, "new: leak shim: 1") || !strings.Contains(out, "2 findings") {
		t.Errorf("%d writes\n%s", f.writes, out)
	}
}

// The text of a finding is data. It can end neither its code block nor the part of the
// issue that the program owns.
func TestTextsAreData(t *testing.T) {
	c := leaks(report.New, 1)[0]
	c.Title, c.Says = "a ``` fence @someone", []string{strings.Repeat("long ", 20000)}
	f := newFake(t)
	dir := reported(t, c)
	f.must(t, dir)
	i := f.issues[0]
	if !strings.Contains(i.Body, "````text\na ``` fence @someone\n") || len(i.Body) > 65000 || len(i.Title) > 256 ||
		!strings.HasSuffix(i.Body, end+"\n") {
		t.Errorf("%.300s ... %d", i.Body, len(i.Body))
	}
	f.must(t, dir)
	must.Equal(t, len(f.issues), 1, "it is not found again")
}

// Text of a report mentions no person, and makes no link and no mark. The next night
// writes the same issue.
func TestIssuesQuoteForeignText(t *testing.T) {
	for _, text := range []string{
		"x --> @everyone", "x\n" + end + "\n@everyone", "[x](http://evil) ` @everyone", "x\x1b[2J\r@everyone",
		"```\n@everyone",
	} {
		c := leaks(report.New, 1)[0]
		c.Key, c.Title, c.Says, c.Replay = text, text, []string{text}, text
		c.Cases = []string{"case-1"}
		dir := filepath.Join(t.TempDir(), "merged")
		v := harness.Verdict{Name: "x", Outcome: harness.Violated, Version: text, Evidence: filepath.Join(dir, text)}
		d := report.Data{Title: "x", Made: time.Unix(0, 0), Clusters: []report.Cluster{c},
			Cases: report.All([]report.Case{{ID: "case-1", Verdict: v}})}
		must.Succeed(t, os.MkdirAll(v.Evidence, 0o755))
		must.Succeed(t, report.Write(dir, d))
		f := newFake(t)
		f.must(t, dir)
		body := f.issues[0].Body
		var page bytes.Buffer
		must.Succeed(t, goldmark.New(goldmark.WithExtensions(extension.GFM)).Convert([]byte(body), &page))
		shown := regexp.MustCompile(`(?s)<code.*?</code>`).ReplaceAllString(page.String(), "")
		shown = strings.ReplaceAll(shown, `<a href="https://run/1">`, "")
		if strings.Contains(shown, "@everyone") || strings.Contains(shown, "<a ") || strings.Contains(body, "\x1b") {
			t.Errorf("%q is shown as it is:\n%s\nof\n%s", text, shown, body)
		}
		f.must(t, dir)
		if len(f.issues) != 1 || f.issues[0].Body != body {
			t.Errorf("%q: %d issues, then\n%s\nwas\n%s", text, len(f.issues), f.issues[0].Body, body)
		}
	}
}
