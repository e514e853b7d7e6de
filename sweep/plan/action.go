package plan

import (
	"fmt"
	"slices"
	"strings"

	"github.com/shimquake/shimquake/failpoints"
	"github.com/shimquake/shimquake/failpoints/probe/term"
	"github.com/shimquake/shimquake/spelling"
)

// Actions are the words for what can happen at a hit, the simplest first (the order of
// package term). A cluster is shown by its simplest action.
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

// word returns an action without its argument: "error" for error(x). An error of a class
// or an errno is [Code] or [Errno], because callers handle it in another way.
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

// verb returns the term's action: "error" for error(NotFound), too.
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

// Takes reports whether the action can happen at the pass.
func (p Pass) Takes(action string) bool { return len(p.faults(action)) > 0 }

// faults returns the faults that stand for an action at the pass, or none if the action
// happens at another moment. An error at a statement is two faults: one skips the call,
// and one makes the call and loses its result. A method of ttrpc has a point for each: at
// its exit the handler has run. A method that hangs is two faults, too: one until the
// client gives up, and one until containerd's own time limit.
func (p Pass) faults(action string) []string {
	w, method := verb(action), p.Moment == AtMethod
	moment := w.Moment()
	switch {
	case action == Code || action == Errno:
		return p.typed(action)
	case !method && (moment != p.Moment || !slices.Contains(failpoints.Stmt.Actions(), w)):
		return nil
	case p.Pure && (w == term.Crash || moment == term.AtCancel || moment == term.AtDeadline):
		return nil
	case w == "pause" && (p.Path == "load" || p.Path == "exit"): // the client has no call in flight
		return nil
	case action == "hang" && p.Point.What == "Task.Wait": // it has no time limit, so it would hang for ever
		return nil
	case action == "hang" && p.Point.Where == "entry" && ignoresContext(p.Point):
		return []string{"hang"}
	case action == "hang":
		return []string{"hang", "deadline"}
	case action == "error" && method:
		return []string{"error(" + errorText + ")"}
	case action == "error":
		return []string{"error(" + errorText + ")", "loseResult"}
	}
	return []string{action}
}
