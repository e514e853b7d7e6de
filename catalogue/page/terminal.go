// Package page makes the texts of the catalogue for people: the lists and pages of the
// command line, docs/bugs/ and README's table.
package page

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/shimquake/shimquake/catalogue"
)

// width is the width of a terminal, a mail and a CI log, in columns.
const width = 100

// List returns a line for each bug, grouped by severity.
func List(bugs []catalogue.Bug) string {
	var b strings.Builder
	longest := 0
	for _, x := range bugs {
		longest = max(longest, len(x.ID))
	}
	var last catalogue.Severity
	for _, x := range bugs {
		if x.Severity != last {
			last = x.Severity
			fmt.Fprintf(&b, "%s (%s)\n", last, last.Means())
		}
		fmt.Fprintln(&b, cut(fmt.Sprintf("  %-*s  %s", longest, x.ID, x.Title), width))
	}
	return b.String()
}

// cut shortens a line to n columns.
func cut(line string, n int) string {
	if utf8.RuneCountInString(line) <= n {
		return line
	}
	return string([]rune(line)[:n-1]) + "…"
}

// Text returns a bug's page for the terminal.
func Text(x catalogue.Bug) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s\n", x.ID, x.Title)
	for _, s := range sections(x) {
		for i, line := range wrap(strings.ReplaceAll(s.text, "`", ""), width-labelled) {
			label := ""
			if i == 0 {
				label = s.label
			}
			fmt.Fprintf(&b, "  %-*s%s\n", labelled-2, label, line)
		}
	}
	return b.String()
}

// labelled is the column in which the text of a section begins.
const labelled = 13

// wrap breaks a text into lines of at most n columns. A longer word has a line of its
// own. Line breaks of the text are kept.
func wrap(text string, n int) (lines []string) {
	for part := range strings.SplitSeq(text, "\n") {
		line := ""
		for word := range strings.FieldsSeq(part) {
			if line != "" && utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) > n {
				lines, line = append(lines, line), ""
			}
			if line != "" {
				line += " "
			}
			line += word
		}
		lines = append(lines, line)
	}
	return lines
}
