package sweep

import (
	"fmt"
	"slices"

	"github.com/shimquake/shimquake/failpoints"
	"github.com/shimquake/shimquake/failpoints/probe/term"
)

// simplest orders actions by how much a reader has to know: the simplest action of a finding is the one that it is told with.
var simplest = []string{"crash", "error", "lose", "cancel", "deadline", "panic", "close", "hang", "delay", "pause"}

// simplicity is an action's place in that order.
func simplicity(action string) int { return slices.Index(simplest, word(action)) }

// errorText is what an injected error says.
const errorText = "injected by shimquake"

// slow is the default delay in milliseconds: more than containerd gives a shim to clean up (5 s, shim.cleanup of [timeouts]).
const slow = 6000

// checkAction says what is wrong with an action that a user asked for.
func checkAction(a string) error {
	if !slices.Contains(simplest, word(a)) {
		return unknown("action", a, simplest)
	}
	if _, err := term.Parse("1*" + a); err != nil {
		return fmt.Errorf("action %q: %w", a, err)
	}
	return nil
}

// faults are what an action means at a pass: none where it is decided at another moment, and two for an error at a statement, whose call is made
// or is not. At a method of ttrpc the point's name says which: at its exit the handler has run.
func faults(action string, p Pass) []string {
	fail := []string{"error(" + errorText + ")", "lose"}
	switch w := word(action); {
	case p.Moment == atMethod && action == "error":
		return fail[:1]
	case p.Moment != atMethod && momentOf[w] != p.Moment && (momentOf[w] != "" || p.Moment != atStatement):
		return nil
	case p.Moment != atMethod && (w == "close" || w == "hang"): // there is no connection
		return nil
	case (w == "cancel" || w == "deadline") && idle(p.Point):
		return nil
	case w == "pause" && (p.Path == "load" || p.Path == "exit"): // no call of the client's is in flight
		return nil
	case action == "error":
		return fail
	case action == "delay":
		return []string{fmt.Sprintf("delay(%d)", slow)}
	}
	return []string{action}
}

// momentOf is when an action at a statement is decided; where it says nothing, before the statement.
var momentOf = map[string]moment{"error": atCall, "lose": atCall, "cancel": atCancel, "deadline": atDeadline}

// steps are what happens while a process is paused: its client goes away, as one whose patience has ended.
func steps(action string) []failpoints.Step {
	if word(action) != string(term.Pause) {
		return nil
	}
	return failpoints.Steps("cancel client", "await client", "release")
}
