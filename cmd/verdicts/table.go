package main

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/onsi/ginkgo/v2/formatter"

	"github.com/shimquake/shimquake/quote"
)

// width is the maximum width of a line of text, in columns. Terminals, mails and CI logs
// show such lines unbroken.
const width = 100

// list joins words with commas: "held, violated".
func list(words []string) string { return quote.Line(strings.Join(words, ", ")) }

// printTable prints the specs of each suite that ran, and the reason below each failed
// spec. printSkips reports the skipped ones.
func printTable(out io.Writer, rows []row) {
	rows = bySuite(rows)
	verdicts := len("VERDICT")
	for _, r := range rows {
		verdicts = max(verdicts, len(list(r.outcomes)))
	}
	line := func(spec, verdict, seconds, text string) {
		put(out, "%s", hang(fmt.Sprintf("%-7s  %-*s  %7s  ", spec, verdicts, verdict, seconds), text))
	}
	line("SPEC", "VERDICT", "SECONDS", "")
	for i, r := range rows {
		if i == 0 || rows[i-1].suite != r.suite {
			put(out, "%s: %s\n", quote.Line(r.suite), count(rows, r.suite))
		}
		if r.verdict == skipped {
			continue
		}
		line(string(r.verdict), list(r.outcomes), fmt.Sprintf("%.2f", r.seconds), r.name)
		if len(r.known) > 0 {
			line("", "", "", "known: "+list(r.known))
		}
		if r.reason != "" {
			line("", "", "", "  "+r.reason)
		}
	}
	put(out, "\n")
}

// bySuite groups the rows by suite, in the order in which the suites first appear.
func bySuite(rows []row) []row {
	first := map[string]int{}
	for i, r := range rows {
		if _, ok := first[r.suite]; !ok {
			first[r.suite] = i
		}
	}
	return slices.SortedStableFunc(slices.Values(rows), func(a, b row) int { return first[a.suite] - first[b.suite] })
}

// plain wraps without colours.
var plain = formatter.New(formatter.ColorModeNone)

// hang wraps a text at width. The head is before the first line, and later lines are
// indented by the head's length.
func hang(head, text string) string {
	indent := utf8.RuneCountInString(head)
	lines := strings.Split(plain.Fiw(0, uint(width-indent), "%s", quote.Line(text)), "\n")
	var b strings.Builder
	for i, l := range lines {
		if i > 0 {
			head = strings.Repeat(" ", indent)
		}
		b.WriteString(strings.TrimRight(head+l, " ") + "\n")
	}
	return b.String()
}

// printMarkdown prints the table for a GitHub step summary.
func printMarkdown(out io.Writer, rows []row) {
	put(out, "| spec | verdict | seconds | suite | |\n|---|---|---:|---|---|\n")
	for _, r := range rows {
		name := quote.Markdown(r.name)
		if r.verdict == failed && r.reason != "" {
			name += "<br>" + quote.Markdown(r.reason)
		}
		cases := list(r.outcomes)
		if len(r.known) > 0 {
			cases += " (known: " + list(r.known) + ")"
		}
		put(out, "| %s | %s | %.2f | %s | %s |\n", r.verdict, quote.Markdown(cases), r.seconds,
			quote.Markdown(r.suite), name)
	}
	put(out, "\n")
}

// printFailures prints only the failed rows.
func printFailures(out io.Writer, rows []row) {
	put(out, "\n")
	for _, r := range rows {
		if r.verdict == failed {
			put(out, "%s%s", hang("failed: ", r.suite+": "+r.name), hang("        ", r.reason))
		}
	}
}

// tally counts the tests by verdict.
type tally map[verdict]int

func (t tally) String() string {
	return fmt.Sprintf("%d passed, %d failed, %d skipped", t[passed], t[failed], t[skipped])
}

// count counts the rows of a suite; "" means all.
func count(rows []row, suite string) tally {
	t := tally{}
	for _, r := range rows {
		if suite == "" || r.suite == suite {
			t[r.verdict]++
		}
	}
	return t
}

// printCount prints the last line, and returns an error if a test failed.
func printCount(out io.Writer, rows []row, notSelected int) error {
	if notSelected > 0 {
		put(out, "%d specs were not selected\n", notSelected)
	}
	all := count(rows, "")
	if _, err := fmt.Fprintln(out, all); err != nil {
		return fmt.Errorf("print the count: %w", err)
	}
	if all[failed] > 0 {
		return errFailed
	}
	return nil
}

// put prints, and ignores errors. printCount writes last, and reports an error of out.
func put(out io.Writer, format string, args ...any) {
	_, _ = fmt.Fprintf(out, format, args...)
}
