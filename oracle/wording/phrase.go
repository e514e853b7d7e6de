package wording

import (
	"fmt"
	"slices"
	"strings"

	"github.com/shimquake/shimquake/oracle/fact"
)

// phrase is a value of fact.What, with the words for a finding.
type phrase struct {
	value   string
	subject string // the subject of the sentence; empty: the name of the bystander
	why     func(fact.Facts) []string
}

// says returns a function that fills facts into a sentence.
func says(format string, keys ...fact.Key) func(fact.Facts) []string {
	return func(fs fact.Facts) []string {
		args := make([]any, len(keys))
		for i, k := range keys {
			args[i] = fs[k]
		}
		return []string{fmt.Sprintf(format, args...)}
	}
}

// whatOf returns the row of a finding's fact.What, and the facts with the error in one
// line.
func whatOf(rows []phrase, fs fact.Facts) (phrase, fact.Facts) {
	fs[fact.Error] = strings.ReplaceAll(strings.TrimSpace(fs[fact.Error]), "\n", "; ")
	i := slices.IndexFunc(rows, func(w phrase) bool { return w.value == fs[fact.What] })
	if i < 0 {
		return phrase{why: says("%s", fact.Error)}, fs
	}
	return rows[i], fs
}

func reasons(rows []phrase, fs fact.Facts) []string {
	w, fs := whatOf(rows, fs)
	return w.why(fs)
}
