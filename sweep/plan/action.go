package plan

import (
	"fmt"
	"slices"
	"strings"

	"github.com/shimquake/shimquake/failpoints"
	"github.com/shimquake/shimquake/failpoints/probe/term"
)

// Actions are the words for what can happen, by how much a reader has to know: the
// simplest action of a cluster is the one that it is shown by.
var Actions = []string{"crash", "error", "lose", "cancel", "deadline", "panic", "close", "hang", "delay", "pause"}

// simplicity is an action's place in that order.
func simplicity(word string) int { return slices.Index(Actions, word) }

// word is an action without its argument.
func word(action string) string {
	w, _, _ := strings.Cut(action, "(")
	return w
}

// errorText is what an injected error says.
const errorText = "injected by shimquake"

// checkAction says what is wrong with an action that a user asked for.
func checkAction(a string) error {
	if !slices.Contains(Actions, word(a)) {
		return failpoints.Unknown("action", a, Actions)
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
	w, method := word(action), p.Moment == AtMethod
	moment := failpoints.MomentOf(term.Action(w))
	switch {
	case !method && moment != p.Moment:
		return nil
	case !method && (w == "close" || w == "hang"): // there is no connection
		return nil
	case (moment == failpoints.AtCancel || moment == failpoints.AtDeadline) && idle(p.Point):
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
