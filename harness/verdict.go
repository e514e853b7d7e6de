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
	// Held: every fault happened, and no rule of the judge was violated.
	Held Outcome = "held"
	// Violated: the history proves that a rule was violated.
	Violated Outcome = "violated"
	// Invalid: the run shows nothing, for example because a fault did not happen or the
	// machine cannot run the case.
	Invalid Outcome = "invalid"
)

// Verdict is the result of a case. judge.Judge derives it from the History alone.
type Verdict struct {
	Case    Case    `json:"-"`
	Name    string  `json:"case"`
	Outcome Outcome `json:"verdict"`
	// Version is the release that the containerd under test reported.
	Version string `json:"containerd"`
	// ReplacedBy are the releases that the workload installed and started instead, in the
	// order of their starts.
	ReplacedBy []string `json:"replacedBy,omitempty"`
	// Problems are the reasons why the verdict is invalid, or why a violated case shows less
	// than a complete run.
	Problems []Problem `json:"problems,omitempty"`
	// Findings are the violations. They also include known residues, which are harmless and
	// violate nothing.
	Findings []finding.Finding `json:"findings,omitempty"`
	// Firings has a proof for each fault.
	Firings []Firing `json:"firings,omitempty"`
	// Truths has the real exit statuses, and Reported what containerd reported.
	Truths   []exit.Truth       `json:"truths,omitempty"`
	Reported []exit.Observation `json:"reported,omitempty"`
	// NeverBegan has the ids of containers without a real exit status, because their payload
	// never ran.
	NeverBegan []string `json:"neverBegan,omitempty"`
	// Residues has two counts for each known residue that is a race: how often it occurred,
	// and how often it could have occurred.
	Residues []rate.Count `json:"residues,omitempty"`
	// LeftOut lists the settings that the harness leaves out of containerd's configuration
	// on this machine, with reasons.
	LeftOut []string `json:"leftOut,omitempty"`
	// Evidence is the folder with the history and the logs, if the evidence is kept.
	Evidence string        `json:"evidence,omitempty"`
	Took     time.Duration `json:"tookNs"`
	// CPU is the processor time of all processes of the run's world.
	CPU time.Duration `json:"cpuNs"`
	// History is the judged history, or nil for a verdict that was read from a file.
	History *History `json:"-"`
}

// SetCost sets the cost of a run and its folder of evidence in the verdict and in the
// history. They are known only after the run, and no rule uses them.
func (v *Verdict) SetCost(took, cpu time.Duration, evidence string) {
	v.Took, v.CPU, v.Evidence = took, cpu, evidence
	v.History.Took, v.History.CPU, v.History.Evidence = took, cpu, evidence
}

// Violations returns the findings that are violations.
func (v Verdict) Violations() []finding.Finding { return finding.Violations(v.Findings) }

// Has reports whether there is a violation of this class.
func (v Verdict) Has(class finding.Class) bool {
	return slices.ContainsFunc(v.Violations(), func(f finding.Finding) bool { return f.Class == class })
}

// HasProblem reports whether there is a problem of this kind.
func (v Verdict) HasProblem(kind ProblemKind) bool {
	return slices.ContainsFunc(v.Problems, func(p Problem) bool { return p.Kind == kind })
}

// UnableHere reports whether this machine cannot run the case: it has no loop device, no
// cgroup controller or no strace. A spec is then skipped.
func (v Verdict) UnableHere() bool { return v.HasProblem(ByMachine) }

// ProblemsText returns the texts of the problems, for people.
func (v Verdict) ProblemsText() string {
	texts := make([]string, len(v.Problems))
	for i, p := range v.Problems {
		texts[i] = p.Text
	}
	return strings.Join(texts, "\n")
}
