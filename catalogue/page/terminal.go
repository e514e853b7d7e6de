// Package page formats the catalogue for people: for the command line, for docs/bugs/ and
// for README's table.
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
		column := min(longest, width-len("    ")-utf8.RuneCountInString(x.Title)) // a long title begins earlier
		fmt.Fprintf(&b, "  %-*s  %s\n", column, x.ID, x.Title)
	}
	return b.String()
}

// Text returns a bug's page for the terminal.
func Text(x catalogue.Bug) string {
	var b strings.Builder
	b.WriteString(strings.Join(wrap(x.ID+": "+x.Title, width), "\n") + "\n")
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

// wrap breaks a text into lines of at most n columns. A longer word gets its own line.
// Line breaks in the text stay.
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
