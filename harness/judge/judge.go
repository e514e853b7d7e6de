// Package judge makes a Verdict of a History. It does no I/O and knows no clock: the same
// History gives the same Verdict, today and when it is judged again.
//
// A rule is one file with one function, and one line in rules. It says what does not
// hold, or why nothing can be said.
package judge

import (
	"slices"
	"strconv"

	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/oracle/fact"
	"github.com/shimquake/shimquake/oracle/finding"
	"github.com/shimquake/shimquake/oracle/residue"
)

// rule judges one thing.
type rule func(*harness.History) ([]finding.Finding, []harness.Problem)

// excuses are the residues that releases are known to leave. The rules about what these
// may explain are methods.
type excuses []residue.Known

// rules are in the order in which their findings are reported.
var rules = func(known excuses) []rule {
	return []rule{
		// What makes a run show nothing.
		proofs, baseline,
		// What must hold when the client is done, and nothing is going on any more.
		responses, alive, known.leaks, ends, known.events, exits, calls, streams,
		// What CRI says, lists and sends.
		criStatuses, criKept, criSandboxes, criStates, criStopped, criNotStarted,
		criRepeated, criNames, criListed, criEvents, networks,
		// What must hold of other containers.
		bystanders,
		// What must never happen.
		crashes, logged, slow,
	}
}

// Judge makes the verdict of a history. Known are the residues that releases are known to
// leave (catalogue.Residues): they do not violate.
func Judge(h harness.History, known []residue.Known) harness.Verdict {
	v := harness.Verdict{
		Case: h.Case, Name: h.Case.Name, Version: h.Version, ReplacedBy: h.Versions()[1:],
		LeftOut: h.LeftOut, Firings: h.Firings, Evidence: h.Evidence,
		Took: h.Took, CPU: h.CPU, Problems: slices.Clone(h.Problems), History: &h,
	}
	uses := usesApart(&h)
	for _, r := range rules(known) {
		found, problems := r(uses)
		v.Findings = append(v.Findings, found...)
		v.Problems = append(v.Problems, problems...)
	}
	attributeFindings(uses, v.Findings)
	v.Residues = excuses(known).races(uses, v.Findings)
	v.Findings = once(v.Findings)
	l := ledgerOf(uses)
	v.Truths, v.Reported, v.NeverBegan = l.truths, l.reported, l.neverBegan
	v.Outcome = outcome(&h, &v)
	return v
}

// outcome decides. What is proven violates, whatever else the run does not show: a fault
// that did not fire, a look that could not be taken. Only where the harness or the
// machine failed may what was found be a consequence of that: so may a step that could
// not be done where a process was to go on by one.
func outcome(h *harness.History, v *harness.Verdict) harness.Outcome {
	doubtful := slices.ContainsFunc(v.Problems, func(p harness.Problem) bool {
		return slices.Contains(ours, p.Kind) || p.Kind == harness.ByStep && (has(h, slowed) || has(h, frozen))
	})
	switch {
	case len(v.Violations()) > 0 && !doubtful, slices.ContainsFunc(v.Findings, isCrash):
		return harness.Violated
	case len(v.Problems) > 0:
		return harness.Invalid
	}
	return harness.Held
}

// ours are the problems that may be the cause of what was found.
var ours = []harness.ProblemKind{
	harness.ByInput, harness.ByMachine, harness.ByBoot, harness.ByBuild, harness.ByBefore,
	harness.ByHarness, harness.ByEnd,
}

// looked reports whether the oracle saw what is left.
func looked(h *harness.History) bool {
	return h.After != nil && h.After.Inventory != nil && h.Before != nil
}

// settled reports whether what was still to come was awaited, too: only then is something
// missing that has not come.
func settled(h *harness.History) bool { return looked(h) && h.Flushed != nil }

func problem(kind harness.ProblemKind, text string) []harness.Problem {
	return []harness.Problem{{Kind: kind, Text: text}}
}

// Same reports whether two verdicts say the same: the outcome, and the findings in any
// order. Words for people do not count: verdicts of before format 3 lack some.
func Same(a, b harness.Verdict) bool {
	if a.Outcome != b.Outcome || len(a.Findings) != len(b.Findings) {
		return false
	}
	for _, f := range a.Findings {
		if !slices.ContainsFunc(b.Findings, func(other finding.Finding) bool {
			other.Because = f.Because
			return other == f
		}) {
			return false
		}
	}
	return true
}

// once has equal findings reported once, with their number: a containerd that panics at
// every call dies a thousand times in a minute.
func once(found []finding.Finding) (out []finding.Finding) {
	at, count := map[finding.Finding]int{}, map[int]int{}
	for _, f := range found {
		i, again := at[f]
		if !again {
			i = len(out)
			at[f], out = i, append(out, f)
		}
		count[i]++
	}
	for i, n := range count {
		if n > 1 && out[i].Facts[fact.Count] == "" {
			out[i].Facts[fact.Count] = strconv.Itoa(n)
		}
	}
	return out
}
