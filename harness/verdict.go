package harness

import (
	"slices"
	"strings"
	"time"

	"github.com/shimquake/shimquake/oracle/exit"
	"github.com/shimquake/shimquake/oracle/finding"
	"github.com/shimquake/shimquake/oracle/rate"
)

// Outcome is the result of a Verdict.
type Outcome string

// The outcomes.
const (
	// Held: every fault fired, and no rule was violated.
	Held Outcome = "held"
	// Violated: a rule was violated, and that is proven.
	Violated Outcome = "violated"
	// Invalid: nothing is known, because a fault did not fire or the machine cannot run the
	// case.
	Invalid Outcome = "invalid"
)

// Verdict is the judgement of a History. judge.Judge makes it from the History alone.
type Verdict struct {
	Case    Case    `json:"-"`
	Name    string  `json:"case"`
	Outcome Outcome `json:"verdict"`
	// Version is the release that the containerd under test reported.
	Version string `json:"containerd"`
	// ReplacedBy are the releases that the workload started in its place, in their order.
	ReplacedBy []string `json:"replacedBy,omitempty"`
	// Problems are the reasons why the verdict is invalid, or why a violated case does not
	// show everything.
	Problems []Problem `json:"problems,omitempty"`
	// Findings are violations, and known residues, which are no violations.
	Findings []finding.Finding `json:"findings,omitempty"`
	// Firings are the proofs of the plan's faults.
	Firings []Firing `json:"firings,omitempty"`
	// Truths and Reported are the exit ledger: the real exit statuses, and the reports.
	Truths   []exit.Truth       `json:"truths,omitempty"`
	Reported []exit.Observation `json:"reported,omitempty"`
	// NeverBegan are the containers whose payload never ran, so that they have no exit
	// status.
	NeverBegan []string `json:"neverBegan,omitempty"`
	// Residues counts known residues that are races: how often they occurred, and how often
	// they could have.
	Residues []rate.Count `json:"residues,omitempty"`
	// LeftOut lists what the configuration of containerd leaves out on this machine, with
	// reasons.
	LeftOut []string `json:"leftOut,omitempty"`
	// Evidence is the folder with the history and the logs, if the evidence is kept.
	Evidence string        `json:"evidence,omitempty"`
	Took     time.Duration `json:"tookNs"`
	// CPU is the processor time that the world used.
	CPU time.Duration `json:"cpuNs"`
	// History is the judged history, or nil for a verdict that was read from a file.
	History *History `json:"-"`
}

// SetCost writes the cost of a run and its folder of evidence into the verdict and its
// history. They are known only after the run, and no rule uses them.
func (v *Verdict) SetCost(took, cpu time.Duration, evidence string) {
	v.Took, v.CPU, v.Evidence = took, cpu, evidence
	v.History.Took, v.History.CPU, v.History.Evidence = took, cpu, evidence
}

// Violations returns the findings that are violations.
func (v Verdict) Violations() []finding.Finding { return finding.Violations(v.Findings) }

// Has reports whether there is a violation of that class.
func (v Verdict) Has(class finding.Class) bool {
	return slices.ContainsFunc(v.Violations(), func(f finding.Finding) bool { return f.Class == class })
}

// HasProblem reports whether there is a problem of that kind.
func (v Verdict) HasProblem(kind ProblemKind) bool {
	return slices.ContainsFunc(v.Problems, func(p Problem) bool { return p.Kind == kind })
}

// Unable reports whether this machine cannot run the case (no loop device, no controller,
// no strace). Specs skip then.
func (v Verdict) Unable() bool { return v.HasProblem(ByMachine) }

// Why returns the texts of the problems, for people.
func (v Verdict) Why() string {
	texts := make([]string, len(v.Problems))
	for i, p := range v.Problems {
		texts[i] = p.Text
	}
	return strings.Join(texts, "\n")
}
