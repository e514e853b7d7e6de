package quote_test

import (
	"bytes"
	"html"
	"net/url"
	"strings"
	"testing"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/extension"

	"github.com/shimquake/shimquake/must"
	"github.com/shimquake/shimquake/quote"
)

var inMarkdown = []string{
	"[x](javascript:alert(1))", "![x](http://evil/p.png)", "<img src=x onerror=alert(1)>", "`code`", "``a`", "a | b",
	"| --- | --- |", "**bold** _it_ ~~gone~~ $x$", "https://evil.example/x", "www.evil.example", "x@evil.example",
	"@everyone", "fixes #1", "GH-12", "# head", "- item", "1. one", "2) two", "+ x", "===", "---", "    code", "> said",
	"&lt;b&gt; &amp;", "\\`x\\`", `\`, "<!-- x -->", "a\n\n# b", "`", " ` ", "~~~", "```", "***", "[^1]: x",
	"[a]: http://x", "<https://evil>", "\\\\|x", "&#8203;",
}

// rendered returns the HTML of a Markdown text, as GitHub renders it.
func rendered(t *testing.T, text string) string {
	t.Helper()
	var b bytes.Buffer
	must.Succeed(t, goldmark.New(goldmark.WithExtensions(extension.GFM)).Convert([]byte(text), &b))
	return strings.TrimSpace(b.String())
}

// shown returns the text of one element, and whether the document has no other element.
func shown(text, open, closed string) (string, bool) {
	text, begins := strings.CutPrefix(text, open)
	text, ends := strings.CutSuffix(text, closed)
	only := begins && ends && !strings.ContainsAny(text, "<>")
	return strings.ReplaceAll(html.UnescapeString(text), "\u200b", ""), only
}

func FuzzMarkdown(f *testing.F) {
	for _, text := range append(hostile, inMarkdown...) {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		want := strings.Trim(quote.Line(text), " ")
		if want == "" {
			t.Skip()
		}
		page := rendered(t, quote.Markdown(text))
		if got, only := shown(page, "<p>", "</p>"); !only || got != want {
			t.Errorf("%q is shown as %q by %q", want, page, quote.Markdown(text))
		}
		for _, mark := range []string{"@", "#", "GH-"} {
			after := strings.Split(html.UnescapeString(page), mark)[1:]
			for _, rest := range after {
				if !strings.HasPrefix(rest, "\u200b") {
					t.Errorf("GitHub refers to %s%s", mark, rest)
				}
			}
		}
		row := "| " + quote.Markdown(text) + " | end |"
		page = rendered(t, "| a | b |\n| --- | --- |\n"+row)
		if n := strings.Count(page, "<td>"); n != 2 || !strings.Contains(page, "<td>end</td>") {
			t.Errorf("%s\nis a row of\n%s", row, page)
		}
	})
}

func FuzzCode(f *testing.F) {
	for _, text := range append(hostile, inMarkdown...) {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		want := quote.Line(text)
		if strings.Trim(want, " ") == "" {
			t.Skip()
		}
		page := rendered(t, "x "+quote.Code(text))
		if got, only := shown(strings.Replace(page, "<code>", "", 1), "<p>x ", "</code></p>"); !only ||
			got != strings.ReplaceAll(want, "\u200b", "") {
			t.Errorf("%q is shown as %q by %q", want, page, quote.Code(text))
		}
		page = rendered(t, quote.Fence("text", text)+"\nend")
		if _, only := shown(page, `<pre><code class="language-text">`, "\n</code></pre>\n<p>end</p>"); !only {
			t.Errorf("%q is a block of %q", text, page)
		}
	})
}

func FuzzPath(f *testing.F) {
	for _, file := range []string{"javascript:alert(1)", "evidence/a b", "//evil.example/x", "/root/x", "http://evil",
		"\\\\evil", "java\tscript:x", "a?b#c", "../x", "data:text/html,x", "", "a%2f:b", "///x", "\x00:", ":"} {
		f.Add(file)
	}
	f.Fuzz(func(t *testing.T, file string) {
		href := quote.Path(file)
		u, err := url.Parse(href)
		if err != nil || u.Scheme != "" || u.Host != "" || strings.ContainsAny(href, "\\\t\n\r \"'<>") ||
			strings.HasPrefix(href, "//") {
			t.Fatalf("%q has the address %q: %v", file, href, err)
		}
		if head, _, _ := strings.Cut(href, "/"); strings.Contains(head, ":") {
			t.Errorf("%q has a scheme in %q", file, href)
		}
	})
}
