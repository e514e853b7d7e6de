package wording

import (
	"fmt"
	"slices"
	"strings"

	"github.com/shimquake/shimquake/oracle/fact"
)

// what is a value of fact.What with its words.
type what struct {
	value   string
	subject string // empty: the bystander's name
	why     func(fact.Facts) []string
}

// says fills the facts into a sentence.
func says(format string, keys ...fact.Key) func(fact.Facts) []string {
	return func(fs fact.Facts) []string {
		args := make([]any, len(keys))
		for i, k := range keys {
			args[i] = fs[k]
		}
		return []string{fmt.Sprintf(format, args...)}
	}
}

// whatOf is the row of a finding's fact.What, and its facts with errors in one line.
func whatOf(rows []what, fs fact.Facts) (what, fact.Facts) {
	fs[fact.Error] = strings.ReplaceAll(strings.TrimSpace(fs[fact.Error]), "\n", "; ")
	i := slices.IndexFunc(rows, func(w what) bool { return w.value == fs[fact.What] })
	if i < 0 {
		return what{why: says("%s", fact.Error)}, fs
	}
	return rows[i], fs
}

func reasons(rows []what, fs fact.Facts) []string {
	w, fs := whatOf(rows, fs)
	return w.why(fs)
}
