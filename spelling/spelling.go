// Package spelling finds the known name that is most like a misspelt name.
package spelling

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/agext/levenshtein"
)

// UnknownError reports a name that does not exist, and suggests the nearest name that
// does.
type UnknownError struct {
	What    string   // the kind of thing: "point ...: kind"
	Name    string   // the unknown name
	Nearest string   // the nearest known name
	Known   []string // all known names
	Lists   string   // the command that lists the known names; "": none
}

// If a command lists the known names, an error lists them only if there are at most
// maxKnown.
const maxKnown = 12

func (e *UnknownError) Error() string {
	msg := fmt.Sprintf("%s %s is unknown", e.What, strconv.Quote(e.Name))
	if e.Nearest != "" {
		return msg + ", did you mean " + strconv.Quote(e.Nearest) + "?"
	}
	if e.Lists != "" && len(e.Known) > maxKnown {
		return msg + "; all are listed by: " + e.Lists
	}
	return msg + "; known: " + strings.Join(e.Known, ", ")
}

// Unknown returns an *UnknownError about a name that is not in known, with the nearest
// name that is.
func Unknown(what, name string, known []string) error {
	return &UnknownError{What: what, Name: name, Nearest: Nearest(name, known), Known: known}
}

// OneOf returns an *UnknownError if a name is not in known.
func OneOf[T ~string](what string, name T, known []T) error {
	if slices.Contains(known, name) {
		return nil
	}
	names := make([]string, len(known))
	for i, k := range known {
		names[i] = string(k)
	}
	return Unknown(what, string(name), names)
}

// Nearest returns the name in known with the smallest edit distance to name. It returns
// "" if every known name differs in more than half of the letters of name.
func Nearest(name string, known []string) string {
	best, nearest := len(name)/2+2, ""
	for _, k := range known {
		if d := levenshtein.Distance(strings.ToLower(name), strings.ToLower(k), nil); d < best {
			best, nearest = d, k
		}
	}
	return nearest
}
