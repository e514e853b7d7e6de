package wording

import (
	"fmt"
	"slices"
	"strings"

	"github.com/shimquake/shimquake/oracle/fact"
	"github.com/shimquake/shimquake/oracle/finding"
)

// phrase has the words for a value of a fact.
type phrase struct {
	value   string
	subject string // the subject of the sentence; empty: the name of the bystander
	why     func(finding.Finding) string
}

// anyValue is the value of the last row of a table that has words for every other value.
const anyValue = "*"

// says returns a function that fills facts into a sentence.
func says(format string, keys ...fact.Key) func(finding.Finding) string {
	return func(f finding.Finding) string {
		args := make([]any, len(keys))
		for i, k := range keys {
			args[i] = f.Facts[k]
		}
		return fmt.Sprintf(format, args...)
	}
}

// rowOf returns the row for the value of a fact, or a row without words.
func rowOf(rows []phrase, value string) phrase {
	i := slices.IndexFunc(rows, func(p phrase) bool { return p.value == value || p.value == anyValue })
	if i < 0 {
		return phrase{why: says("")}
	}
	return rows[i]
}

// words returns the words for the value of a fact, or "".
func words(rows []phrase, f finding.Finding, key fact.Key) string {
	return rowOf(rows, f.Facts[key]).why(f)
}

// by returns a function that chooses the words by the value of a fact.
func by(key fact.Key, rows []phrase) func(finding.Finding) string {
	return func(f finding.Finding) string { return words(rows, f, key) }
}

// join joins the parts of a reason that are not empty.
func join(parts ...string) string {
	return strings.Join(slices.DeleteFunc(parts, func(part string) bool { return part == "" }), "; ")
}
