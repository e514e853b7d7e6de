package harness

import (
	"slices"
	"strings"
	"time"

	"github.com/shimquake/shimquake/oracle/exit"
	"github.com/shimquake/shimquake/oracle/finding"
	"github.com/shimquake/shimquake/oracle/rate"
)

// Outcome is the answer of a Verdict.
type Outcome string

// The outcomes.
const (
	Held     Outcome = "held"     // every fault fired, and everything held
	Violated Outcome = "violated" // something did not hold, and that is proven
	Invalid  Outcome = "invalid"  // a fault did not fire, or the machine cannot run the case: nothing is known
)

// Verdict is what a History shows. judge.Judge makes it, of the History and nothing else.
type Verdict struct {
	Case    Case    `json:"-"`
	Name    string  `json:"case"`
	Outcome Outcome `json:"verdict"`
	// Version is the release that the containerd under test reported.
	Version string `json:"containerd"`
	// ReplacedBy are the releases that the workload started in its place, in their order.
	ReplacedBy []string `json:"replacedBy,omitempty"`
	// Problems are why the verdict is invalid, or what a violated case does not show
	// besides.
	Problems []Problem `json:"problems,omitempty"`
	// Findings are what does not hold, and known residues, which do not violate.
	Findings []finding.Finding `json:"findings,omitempty"`
	// Firings say for each fault of the plan how it is known to have happened.
	Firings []Firing `json:"firings,omitempty"`
	// Truths and Reported are the exit ledger: what is true, and who reported what.
	Truths   []exit.Truth       `json:"truths,omitempty"`
	Reported []exit.Observation `json:"reported,omitempty"`
	// NeverBegan are the containers whose payload never ran: there was no exit status to
	// tell.
	NeverBegan []string `json:"neverBegan,omitempty"`
	// Residues are how often known residues that are races were left, and could have been.
	Residues []rate.Count `json:"residues,omitempty"`
	// LeftOut is what this machine's configuration of containerd leaves out, with reasons.
	LeftOut []string `json:"leftOut,omitempty"`
	// Evidence is the folder with the history and the logs, of a case whose evidence is
	// kept.
	Evidence string        `json:"evidence,omitempty"`
	Took     time.Duration `json:"tookNs"`
	// CPU is the processor time that the world has used.
	CPU time.Duration `json:"cpuNs"`
	// History is what the verdict was made of; nil for one that was read.
	History *History `json:"-"`
}

// SetCost writes what a run took, and where its evidence is, into the verdict and its
// history: both are known only when the run is over, and nothing is judged by them.
func (v *Verdict) SetCost(took, cpu time.Duration, evidence string) {
	v.Took, v.CPU, v.Evidence = took, cpu, evidence
	v.History.Took, v.History.CPU, v.History.Evidence = took, cpu, evidence
}

// Violations are the findings that violate.
func (v Verdict) Violations() []finding.Finding { return finding.Violations(v.Findings) }

// Has reports whether something of that class violates.
func (v Verdict) Has(class finding.Class) bool {
	return slices.ContainsFunc(v.Violations(), func(f finding.Finding) bool { return f.Class == class })
}

// HasProblem reports whether there is a problem of that kind.
func (v Verdict) HasProblem(kind ProblemKind) bool {
	return slices.ContainsFunc(v.Problems, func(p Problem) bool { return p.Kind == kind })
}

// Unable reports whether this machine cannot run the case (no loop device, no controller,
// no strace): specs skip for it.
func (v Verdict) Unable() bool { return v.HasProblem(ByMachine) }

// Why says for a person why the verdict is invalid.
func (v Verdict) Why() string {
	texts := make([]string, len(v.Problems))
	for i, p := range v.Problems {
		texts[i] = p.Text
	}
	return strings.Join(texts, "\n")
}
