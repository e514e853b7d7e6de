package plan

import (
	"fmt"
	"slices"
	"strings"

	"github.com/shimquake/shimquake/failpoints"
	"github.com/shimquake/shimquake/failpoints/probe/term"
	"github.com/shimquake/shimquake/spelling"
)

// Actions are the words for what can happen, by how much a reader has to know (in the
// order of package term): the simplest action of a cluster is the one that it is shown
// by.
var Actions = actions()

func actions() (words []string) {
	for _, a := range term.Actions(string(failpoints.RPC), string(failpoints.Stmt)) {
		switch a {
		case term.Off:
		case term.Error:
			words = append(words, string(a), Code, Errno)
		default:
			words = append(words, string(a))
		}
	}
	return words
}

// simplicity is an action's place in that order.
func simplicity(word string) int { return slices.Index(Actions, word) }

// word is an action without its argument: error(x) is an error. One that names a class or
// an errno has that word: what its caller does is another matter.
func word(action string) string {
	verb, arg, _ := strings.Cut(action, "(")
	c := term.Clause{Arg: strings.TrimSuffix(arg, ")")}
	if _, ok := c.Code(); ok && verb == "error" {
		return Code
	}
	if _, ok := c.Errno(); ok && verb == "error" {
		return Errno
	}
	return verb
}

// verb is the action of a term that an action is: of error(NotFound), too, it is error.
func verb(action string) term.Action {
	v, _, _ := strings.Cut(action, "(")
	return term.Action(v)
}

// errorText is what an injected error says.
const errorText = "injected by shimquake"

// checkAction says what is wrong with an action that a user asked for.
func checkAction(a string) error {
	if a == Code || a == Errno {
		return nil
	}
	if !slices.Contains(Actions, word(a)) {
		return spelling.Unknown("action", a, Actions)
	}
	if _, err := term.Parse("1*" + a); err != nil {
		return fmt.Errorf("action %q: %w", a, err)
	}
	return nil
}

// Takes reports whether an action is decided at the pass.
func (p Pass) Takes(action string) bool { return len(p.faults(action)) > 0 }

// faults are what an action means at a pass. They are none where it is decided at another
// moment. They are two for an error at a statement, whose call is made or is not; at a
// method of ttrpc the point's name says which: at its exit the handler has run.
func (p Pass) faults(action string) []string {
	w, method := verb(action), p.Moment == AtMethod
	moment := w.Moment()
	switch {
	case action == Code || action == Errno:
		return p.typed(action)
	case !method && (moment != p.Moment || !slices.Contains(failpoints.Stmt.Actions(), w)):
		return nil
	case (moment == term.AtCancel || moment == term.AtDeadline) && idle(p.Point):
		return nil
	case w == "pause" && (p.Path == "load" || p.Path == "exit"): // no call of the client's is in flight
		return nil
	case action == "error" && method:
		return []string{"error(" + errorText + ")"}
	case action == "error":
		return []string{"error(" + errorText + ")", "lose"}
	}
	return []string{action}
}
