package failpoints

import (
	"fmt"
	"strconv"
	"strings"
)

// UnknownError is a name that does not exist, with the nearest one that does.
type UnknownError struct {
	What    string   // what was looked for: "point ...: kind"
	Name    string   // what was given
	Nearest string   // the nearest right name
	Known   []string // all right names
}

func (e *UnknownError) Error() string {
	msg := fmt.Sprintf("%s %s is unknown", e.What, quote(e.Name))
	if e.Nearest != "" {
		return msg + ", did you mean " + quote(e.Nearest) + "?"
	}
	return msg + "; known: " + strings.Join(e.Known, ", ")
}

// Unknown is the error of a name that is not among known: an *UnknownError with the
// nearest one that is.
func Unknown(what, name string, known []string) error {
	return &UnknownError{What: what, Name: name, Nearest: Nearest(name, known), Known: known}
}

func quote(s string) string { return strconv.Quote(s) }

// Nearest is the name in known with the smallest edit distance to name, or "" when none
// is near: more than half of its letters would have to change.
func Nearest(name string, known []string) string {
	best, nearest := len(name)/2+2, ""
	for _, k := range known {
		if d := distance(strings.ToLower(name), strings.ToLower(k)); d < best {
			best, nearest = d, k
		}
	}
	return nearest
}

// distance is the Levenshtein distance of two strings, in bytes.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost = 1 + min(diagonal, row[j], row[j+1])
			}
			diagonal, row[j+1] = row[j+1], cost
		}
	}
	return row[len(b)]
}
