package main

import (
	"regexp"
	"strings"
	"testing"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/extension"

	"github.com/shimquake/shimquake/must"
)

// The text of a test cannot forge a row, in either form.
func TestTablesQuoteForeignText(t *testing.T) {
	printed := func(text string) (table, page string) {
		rows := []row{
			{suite: text, name: text, verdict: failed, reason: text, outcomes: []string{text}, known: []string{text}},
			{suite: text, name: text, verdict: skipped, reason: text},
		}
		var lines, markdown, b strings.Builder
		printTable(&lines, rows)
		printFailures(&lines, rows)
		printSkips(&lines, rows, false)
		printMarkdown(&markdown, rows)
		printSkips(&markdown, rows, true)
		must.Succeed(t, goldmark.New(goldmark.WithExtensions(extension.GFM)).Convert([]byte(markdown.String()), &b))
		return lines.String(), strings.Join(regexp.MustCompile(`<[^>]*>`).FindAllString(b.String(), -1), "")
	}
	table, page := printed("plain")
	for _, text := range []string{
		"x\npassed   held   0.01  y", "a | b\n| passed | held |", "<img src=x>", "[x](http://evil)", "x\rpassed",
		"x\x1b[2Ky", "`|`",
	} {
		got, tags := printed(text)
		if n := strings.Count(got, "\n"); n != strings.Count(table, "\n") || strings.ContainsAny(got, "\x1b\r") {
			t.Errorf("%q is %d lines:\n%s", text, n, got)
		}
		must.Equal(t, tags, page, text, "makes")
	}
}
