package main

import (
	"cmp"
	"fmt"
	"io"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/shimquake/shimquake/quote"
)

// skip is a reason for which tests were skipped.
type skip struct {
	reason string
	count  int
	suites []string
}

// testLine matches the beginning of go test's line about a skipped test.
var testLine = regexp.MustCompile(`^\S+_test\.go:\d+: `)

// skips returns the reasons of skipped tests, each once, the most frequent first.
func skips(rows []row) []skip {
	var all []skip
	for _, r := range rows {
		if r.verdict != skipped {
			continue
		}
		reason := cmp.Or(testLine.ReplaceAllString(r.reason, ""), "no reason was given")
		i := slices.IndexFunc(all, func(s skip) bool { return s.reason == reason })
		if i < 0 {
			i = len(all)
			all = append(all, skip{reason: reason})
		}
		all[i].count++
		if suite := path.Base(r.suite); !slices.Contains(all[i].suites, suite) {
			all[i].suites = append(all[i].suites, suite)
		}
	}
	slices.SortStableFunc(all, func(a, b skip) int { return b.count - a.count })
	return all
}

// printSkips prints the left-out tests, in one line for each reason.
func printSkips(out io.Writer, rows []row, markdown bool) {
	for _, s := range skips(rows) {
		text := s.reason + " (" + strings.Join(s.suites, ", ") + ")"
		if markdown {
			put(out, "- skipped %d: %s\n", s.count, quote.Markdown(text))
			continue
		}
		put(out, "%s", hang(fmt.Sprintf("skipped %3d  ", s.count), text))
	}
}
