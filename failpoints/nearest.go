package failpoints

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/shimquake/shimquake/failpoints/probe/term"
)

// UnknownError is a name that does not exist, with the nearest one that does.
type UnknownError struct {
	What    string   // what was looked for: "point ...: kind"
	Name    string   // what was given
	Nearest string   // the nearest right name
	Known   []string // all right names
	Lists   string   // the command that lists them, for when they are many; "": none
}

// mostKnown is how many right names an error lists where a command lists all.
const mostKnown = 12

func (e *UnknownError) Error() string {
	msg := fmt.Sprintf("%s %s is unknown", e.What, quote(e.Name))
	if e.Nearest != "" {
		return msg + ", did you mean " + quote(e.Nearest) + "?"
	}
	if e.Lists != "" && len(e.Known) > mostKnown {
		return msg + "; all are listed by: " + e.Lists
	}
	return msg + "; known: " + strings.Join(e.Known, ", ")
}

// Unknown is the error of a name that is not among known: an *UnknownError with the
// nearest one that is.
func Unknown(what, name string, known []string) error {
	return &UnknownError{What: what, Name: name, Nearest: Nearest(name, known), Known: known}
}

func quote(s string) string { return strconv.Quote(s) }

// Nearest is the name in known that is the least changed from name, or "" when none is
// near (see term.Nearest).
func Nearest(name string, known []string) string { return term.Nearest(name, known) }
