// Package judge makes a Verdict of a History. It does no I/O and knows no clock: the same
// History gives the same Verdict, today and when it is judged again.
//
// A rule is one file with one function, and one line in rules. It says what does not
// hold, or why nothing can be said.
package judge

import (
	"slices"

	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/oracle"
)

// rule judges one thing.
type rule func(*harness.History) ([]oracle.Finding, []harness.Problem)

// rules are in the order in which their findings are told.
var rules = []rule{
	// What makes a run show nothing.
	firings, baseline, payloads,
	// What must hold when the client is done, and nothing is going on any more.
	removal, answers, leaks, forgotten, events, exits,
	// What must hold of what the plan was not about.
	bystanders, outlived,
	// What must hold when the first id is used again.
	restart, reuse, lateExits,
	// What must never happen.
	deaths,
}

// Judge makes the verdict of a history.
func Judge(h harness.History) harness.Verdict {
	v := harness.Verdict{
		Case: h.Case, Name: h.Case.Name, Version: h.Version, LeftOut: h.LeftOut, Firings: h.Firings, Evidence: h.Evidence,
		Took: h.Took, CPU: h.CPU, Problems: slices.Clone(h.Problems), History: &h,
	}
	for _, r := range rules {
		found, problems := r(&h)
		v.Findings = append(v.Findings, found...)
		v.Problems = append(v.Problems, problems...)
	}
	v.Truths, v.Told, v.NeverBegan = ledger(&h)
	v.Outcome = outcome(&v)
	if v.Outcome != harness.Invalid {
		v.Problems = nil
	}
	return v
}

// outcome decides. What keeps a run from showing everything makes it invalid, whatever it
// shows besides; only where containerd died by itself, that the oracle could not look at
// everything is a consequence.
func outcome(v *harness.Verdict) harness.Outcome {
	problems := slices.DeleteFunc(slices.Clone(v.Problems), func(p harness.Problem) bool {
		return p.Kind == harness.ByLook && slices.ContainsFunc(v.Findings, died)
	})
	switch {
	case len(problems) > 0:
		return harness.Invalid
	case len(v.Violations()) > 0:
		return harness.Violated
	}
	return harness.Held
}

// looked reports whether the oracle saw what is left.
func looked(h *harness.History) bool {
	return h.After != nil && h.After.Inventory != nil && h.Before != nil
}

func problem(kind harness.ProblemKind, text string) []harness.Problem {
	return []harness.Problem{{Kind: kind, Text: text}}
}

// Same reports whether two verdicts say the same: the outcome, and the findings in any
// order.
func Same(a, b harness.Verdict) bool {
	if a.Outcome != b.Outcome || len(a.Findings) != len(b.Findings) {
		return false
	}
	for _, f := range a.Findings {
		if !slices.Contains(b.Findings, f) {
			return false
		}
	}
	return true
}
