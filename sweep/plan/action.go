package plan

import (
	"fmt"
	"slices"
	"strings"

	"github.com/shimquake/shimquake/failpoints"
	"github.com/shimquake/shimquake/failpoints/probe/term"
	"github.com/shimquake/shimquake/spelling"
)

// Actions are the words of --actions, the simplest first, in the order of package term. A
// cluster of findings is shown by the case with the simplest action.
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

// simplicity returns an action's place in [Actions].
func simplicity(word string) int { return slices.Index(Actions, word) }

// word returns an action without its argument: "error" for error(x). For an error with a
// gRPC code it returns [Code], and for one with an errno [Errno], because callers handle
// these errors differently.
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

// verb returns the action of the failpoint term. Unlike word, it returns "error" for
// error(NotFound).
func verb(action string) term.Action {
	v, _, _ := strings.Cut(action, "(")
	return term.Action(v)
}

// errorText is the text of an injected error.
const errorText = "injected by shimquake"

// checkAction returns why an action that a user named is not valid.
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

// Takes reports whether the action can happen at this hit.
func (p Hit) Takes(action string) bool { return len(p.faults(action)) > 0 }

// faults returns the faults that an action stands for at this hit. It returns none if the
// action cannot happen here, or would have the same effect at the next statement. An
// error at a statement is two faults: one skips the call, and one makes the call and
// loses its result. If the call changes nothing, these are the same. A ttrpc method needs
// only one, because it has two points: at its entry the handler has not run, and at its
// exit it has. A hanging method is two faults, too: one lasts until the client gives up,
// and one until containerd's own timeout.
func (p Hit) faults(action string) []string {
	w, method := verb(action), p.Moment == AtMethod
	moment := w.Moment()
	switch {
	case action == Code || action == Errno:
		return p.typed(action)
	case !method && (moment != p.Moment || !slices.Contains(failpoints.Stmt.Actions(), w)):
		return nil
	case w == term.Crash && p.Effect.Inside: // as before the next statement
		return nil
	case (moment == term.AtCancel || moment == term.AtDeadline) && (p.Effect.Blind || p.IsOwnWork()): // the same
		return nil
	case action == "cancel" && p.Point.Where == "entry" && isServed(p.Point) && ignoresContext(p.Point):
		return nil
	case w == "pause" && (p.Path == "load" || p.Path == "exit"): // the client has no call in flight
		return nil
	case action == "hang" && p.Point.What == "Task.Wait": // containerd sets no timeout for it, so it would hang for ever
		return nil
	case action == "hang" && p.Point.Where == "entry" && ignoresContext(p.Point):
		return []string{"hang"}
	case action == "hang":
		return []string{"hang", "deadline"}
	case action == "error" && (method || p.Effect.Inside && p.Effect.Reads):
		return []string{"error(" + errorText + ")"}
	case action == "error":
		return []string{"error(" + errorText + ")", "loseResult"}
	}
	return []string{action}
}
