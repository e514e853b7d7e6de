package repro

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode"

	"github.com/shimquake/shimquake/harness/client/cri"
	"github.com/shimquake/shimquake/repro/read"
)

// Quoted are the messages of a report that say that something is wrong.
func Quoted(r read.Report) (out []read.Observation) {
	for _, o := range r.Of(read.Message) {
		if o.Level == "warning" || o.Level == "error" || o.Level == "fatal" || o.Level == "warn" {
			out = append(out, o)
		}
	}
	return out
}

// loggedIn are the messages of the log of a run that was kept, without those of what the
// client tries in vain to see whether a name is free.
func loggedIn(evidence string) []read.Observation {
	if evidence == "" {
		return nil
	}
	text, err := os.ReadFile(filepath.Join(evidence, "containerd.log"))
	if err != nil {
		return nil // it did not come so far
	}
	return slices.DeleteFunc(Quoted(read.Text(string(text))), func(o read.Observation) bool {
		return strings.Contains(o.Raw, cri.Absent)
	})
}

// words are those of a message, without ids, paths and numbers. Two releases, and two
// machines, seldom log quite the same.
type words map[string]bool

// sameMessage is how many hundredths of a message's words are in another that is the
// same.
const sameMessage = 75

func wordsOf(text string) words {
	all := words{}
	for _, field := range strings.Fields(text) {
		if strings.Contains(field, "/") {
			continue // a path, with names in it
		}
		for _, w := range strings.FieldsFunc(field, func(r rune) bool { return !unicode.IsLetter(r) }) {
			if len(w) > 2 {
				all[strings.ToLower(w)] = true
			}
		}
	}
	return all
}

// bestOf is how many hundredths of the words are in that of the others which has most.
func (w words) bestOf(others []words) (best int) {
	for _, o := range others {
		n := 0
		for word := range w {
			if o[word] {
				n++
			}
		}
		best = max(best, 100*n/max(len(w), 1))
	}
	return best
}
