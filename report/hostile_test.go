package report_test

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"fmt"
	"io"
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

// hostile is text that did harm in Markdown.
var hostile = []string{
	"x\n| new | forged | f | 1 |", "x\n\n# forged", "[x](http://evil)", "![x](http://evil/p.png)",
	"<img src=x onerror=y>",
	"`a | b`", "http://evil", "@everyone fixes #1", "x\r| forged |", "x\x1b[2J", "- item", "</details>",
}

// Text of others makes nothing but text of a summary, wherever it stands.
func TestSummaryQuotesForeignText(t *testing.T) {
	want := tags(summaryOf(t, "plain"))
	for _, text := range hostile {
		page := summaryOf(t, text)
		must.Equal(t, tags(page), want, text, "makes", "in", page)
		if strings.Contains(page, "@everyone") || strings.Contains(page, "#1") || strings.Contains(page, "\x1b") {
			t.Errorf("%q is shown as it is:\n%s", text, page)
		}
	}
}

// Control characters and marks of direction are shown as escapes in every file.
func TestReportsShowEscapes(t *testing.T) {
	const foreign = "v2\x1b[2J\u009b2J\u202e\U000e0041<"
	dir := t.TempDir()
	v := leaked("x")
	v.Name, v.Version = foreign, foreign
	d := report.Data{Title: foreign, Command: foreign, Made: time.Unix(0, 0), Lacks: foreign,
		Clusters: []report.Cluster{{ID: foreign, Title: foreign, State: report.New}},
		Cases:    report.All([]report.Case{{ID: "case-1", Workload: foreign, Verdict: v, Replay: foreign}})}
	must.Succeed(t, report.Write(dir, d))
	texts := map[string]string{"cases of the page": unpacked(t, dir)}
	for _, file := range []string{report.HTMLFile, report.JUnitFile, report.SummaryFile, report.ResultsFile} {
		text := must.Get(os.ReadFile(filepath.Join(dir, file)))(t)
		texts[file], _, _ = strings.Cut(string(text), "<script") // the library has such characters of its own
		if file == report.HTMLFile {
			_, head, _ := strings.Cut(string(text), `id="head"`)
			head, _, _ = strings.Cut(head, "</script>")
			texts["head of the page"] = head
		}
	}
	for name, text := range texts {
		if strings.ContainsAny(text, "\x1b\u009b\u202e\U000e0041\ufffd") {
			t.Errorf("%s has them as they are", name)
		}
		must.Contain(t, text, `\u202e`, name)
		// A page shows the text that it decodes.
		if strings.HasSuffix(name, "of the page") && !strings.Contains(text, `\\u202e\\udb40\\udc41`) {
			t.Errorf("%s shows no escape", name)
		}
	}
}

// tags are the elements of a page, in their order.
func tags(page string) string {
	return strings.Join(regexp.MustCompile(`<[^>]*>`).FindAllString(page, -1), "")
}

// summaryOf returns the HTML of a summary in which a text stands at each place.
func summaryOf(t *testing.T, text string) string {
	t.Helper()
	dir := t.TempDir()
	v := harness.Verdict{Name: text, Outcome: harness.Invalid, Problems: []harness.Problem{{Text: text}}}
	d := report.Data{Title: text, Made: time.Unix(0, 0), Lacks: text, Says: []string{text},
		Answers: []report.Part{{Head: text, Rows: []report.Row{{Name: text, Text: text}}}},
		Cases:   report.All([]report.Case{{ID: "case-1", Verdict: v}})}
	var all []byte
	for _, clusters := range [][]report.Cluster{nil, {{ID: text, Title: text, State: report.New}, {ID: text, Title: text,
		State: report.Known}}} {
		d.Clusters = clusters
		must.Succeed(t, report.Write(dir, d))
		page := must.Get(os.ReadFile(filepath.Join(dir, report.SummaryFile)))(t)
		all = append(all, page...)
	}
	var b bytes.Buffer
	must.Succeed(t, goldmark.New(goldmark.WithExtensions(extension.GFM)).Convert(all, &b))
	return b.String()
}

// A folder of evidence is a file's address in the page, whatever it is called.
func TestPageLinksToFilesOnly(t *testing.T) {
	for dir, want := range map[string]string{
		"javascript:alert(1)": `"./javascript:alert%281%29"`, "data:text/html,x": `"./data:text/html,x"`,
		"evidence/a b": `"evidence/a%20b"`, "https://evil/x": `"./https:/evil/x"`,
		"x\" onclick=\"y": `"x%22%20onclick=%22y"`,
	} {
		out := t.TempDir()
		v := leaked("x")
		v.Evidence = filepath.Join(out, dir)
		d := report.Data{Title: "x", Made: time.Unix(0, 0), Cases: report.All([]report.Case{{ID: "case-1", Verdict: v}})}
		must.Succeed(t, os.MkdirAll(v.Evidence, 0o755))
		must.Succeed(t, report.Write(out, d))
		must.Contain(t, unpacked(t, out), fmt.Sprintf(`"link":%s`, want), dir)
	}
}

// unpacked returns the cases of a page.
func unpacked(t *testing.T, dir string) string {
	t.Helper()
	page := must.Get(os.ReadFile(filepath.Join(dir, report.HTMLFile)))(t)
	_, rest, _ := strings.Cut(string(page), `id="packs">`)
	packs, _, _ := strings.Cut(rest, "</script>")
	var all strings.Builder
	for line := range strings.Lines(packs) {
		z := must.Get(gzip.NewReader(base64.NewDecoder(base64.StdEncoding, strings.NewReader(strings.TrimSpace(line)))))(t)
		must.Get(io.Copy(&all, z))(t)
	}
	return all.String()
}
