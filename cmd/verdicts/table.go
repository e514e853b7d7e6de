package main

import (
	"fmt"
	"io"
	"strings"
)

// printTable prints one row a spec, and the reason beneath those that failed or were skipped.
func printTable(out io.Writer, rows []row) {
	suites, cases := len("SUITE"), len("VERDICT")
	for _, r := range rows {
		suites, cases = max(suites, len(r.suite)), max(cases, len(r.cases))
	}
	line := func(a, b, c, d, e string) { put(out, "%-7s  %-*s  %7s  %-*s  %s\n", a, cases, b, c, suites, d, e) }
	line("SPEC", "VERDICT", "SECONDS", "SUITE", "")
	for _, r := range rows {
		line(string(r.verdict), r.cases, fmt.Sprintf("%.2f", r.seconds), r.suite, r.name)
		if r.reason != "" {
			line("", "", "", "", "  "+r.reason)
		}
	}
	put(out, "\n")
}

// printMarkdown prints the same as a table for a GitHub step summary.
func printMarkdown(out io.Writer, rows []row) {
	put(out, "| spec | verdict | seconds | suite | |\n|---|---|---:|---|---|\n")
	cell := strings.NewReplacer("|", `\|`, "\n", " ", "<", "&lt;")
	for _, r := range rows {
		name := cell.Replace(r.name)
		if r.reason != "" {
			name += "<br>" + cell.Replace(r.reason)
		}
		put(out, "| %s | %s | %.2f | %s | %s |\n", r.verdict, cell.Replace(r.cases), r.seconds, cell.Replace(r.suite), name)
	}
	put(out, "\n")
}

// printFailures prints only what failed.
func printFailures(out io.Writer, rows []row) {
	put(out, "\n")
	for _, r := range rows {
		if r.verdict == failed {
			put(out, "failed: %s: %s\n        %s\n", r.suite, r.name, r.reason)
		}
	}
}

// printCount prints the last line, and tells whether something failed.
func printCount(out io.Writer, rows []row, notSelected int) error {
	count := map[verdict]int{}
	for _, r := range rows {
		count[r.verdict]++
	}
	if notSelected > 0 {
		put(out, "%d specs were not selected\n", notSelected)
	}
	if _, err := fmt.Fprintf(out, "%d passed, %d failed, %d skipped\n", count[passed], count[failed], count[skipped]); err != nil {
		return fmt.Errorf("print the count: %w", err)
	}
	if count[failed] > 0 {
		return errFailed
	}
	return nil
}

// put prints; an error of out shows when printCount writes to it last.
func put(out io.Writer, format string, args ...any) {
	_, _ = fmt.Fprintf(out, format, args...)
}
