// Package judge makes a Verdict from a History, the record of one run. It does no I/O and
// reads no clock, so the same History always gives the same Verdict.
//
// A rule is one function in the list rules. It returns a finding for each statement that
// does not hold, or a problem if the run is invalid. A fault can excuse a deviation:
// effects.go finds the effects of faults, and tolerance.go says what each effect excuses.
// A hit is one pass of a process through a point where a fault can be injected
// (failpoints.Hit).
package judge

import (
	"slices"
	"strconv"

	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/oracle/fact"
	"github.com/shimquake/shimquake/oracle/finding"
	"github.com/shimquake/shimquake/oracle/residue"
)

// rule checks related statements about a run.
type rule func(*run) ([]finding.Finding, []harness.Problem)

// excuses are the known residues: harmless leftovers of releases. A rule is a method of
// excuses if a residue may excuse its findings.
type excuses []residue.Known

// rules lists the rules in the order in which their findings are reported.
var rules = func(known excuses) []rule {
	return []rule{
		// Is the run valid?
		proofs, baseline,
		// After the client's last call, when nothing changes any more:
		responses, alive, known.leaks, ends, known.events, exits, calls, streams,
		// The responses, lists and events of CRI:
		observations, criNames, criEvents, networks,
		// Bystanders (containers that no fault targets):
		bystanders,
		// During the whole run:
		crashes, logged, slow,
	}
}

// Judge returns the verdict on a history. A finding that is a known residue
// (catalogue.Residues) does not make the case violated.
func Judge(h harness.History, known []residue.Known) harness.Verdict {
	v := harness.Verdict{
		Case: h.Case, Name: h.Case.Name, Version: h.Version, ReplacedBy: h.Versions()[1:],
		LeftOut: h.LeftOut, Firings: h.Firings, Evidence: h.Evidence,
		Took: h.Took, CPU: h.CPU, Problems: slices.Clone(h.Problems), History: &h,
	}
	r := runOf(&h)
	for _, check := range rules(known) {
		found, problems := check(r)
		v.Findings = append(v.Findings, found...)
		v.Problems = append(v.Problems, problems...)
	}
	attributeFindings(r, v.Findings)
	v.Residues = excuses(known).races(r, v.Findings)
	v.Findings = once(v.Findings)
	withoutStalls(&h, &v)
	l := ledgerOf(r)
	v.Truths, v.Reported, v.NeverBegan = l.truths, l.reported, l.neverBegan
	v.Outcome = outcome(r, &v)
	return v
}

// outcome returns the outcome of a verdict. A violation counts even if a fault did not
// fire, or an inventory is missing. It does not count if a failure of the harness or of
// the machine may have caused it. If a step of the harness failed, a process may still be
// frozen. A crash always counts.
func outcome(h *run, v *harness.Verdict) harness.Outcome {
	doubtful := slices.ContainsFunc(v.Problems, func(p harness.Problem) bool {
		return slices.Contains(harnessProblems, p.Kind) ||
			p.Kind == harness.ByStep && tolerated(h, nothingFrozen, span{})
	})
	switch {
	case len(v.Violations()) > 0 && !doubtful, slices.ContainsFunc(v.Findings, isCrash):
		return harness.Violated
	case len(v.Problems) > 0:
		return harness.Invalid
	}
	return harness.Held
}

// harnessProblems lists the kinds of problems that may have caused a finding.
var harnessProblems = []harness.ProblemKind{
	harness.ByInput, harness.ByMachine, harness.ByBoot, harness.ByBuild, harness.ByBefore,
	harness.ByHarness, harness.ByEnd,
}

// looked reports whether the history has both inventories.
func looked(h *run) bool {
	return h.After != nil && h.After.Inventory != nil && h.Before != nil
}

// settled reports whether the run also waited for late events. Otherwise an event that
// has not arrived is not a finding.
func settled(h *run) bool { return looked(h) && h.Flushed != nil }

func problem(kind harness.ProblemKind, text string) []harness.Problem {
	return []harness.Problem{{Kind: kind, Text: text}}
}

// Same reports whether two verdicts have the same outcome, and the same findings in any
// order. The text in Because does not count, because it only explains a finding.
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

// once merges equal findings into one, with their number. A containerd that panics at
// every call exits a thousand times in a minute.
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
