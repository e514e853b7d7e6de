package catalogue

import (
	"regexp"
	"slices"

	"github.com/shimquake/shimquake/fixes"
	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/oracle/affected"
	"github.com/shimquake/shimquake/oracle/finding"
	"github.com/shimquake/shimquake/oracle/rate"
	"github.com/shimquake/shimquake/oracle/residue"
)

// Bug is everything that is known about one bug, from a file in bugs/. Sweeps, the
// oracle, the matrix, `shimquake repro` and the pages of docs/bugs/ use it.
type Bug struct {
	// ID is containerd-NUMBER if upstream has an issue for exactly this bug. Otherwise it
	// is a short name, such as shim-not-loaded.
	ID string `yaml:"id"`
	// Title says what a user loses or sees, in at most 70 characters.
	Title string `yaml:"title"`
	Kind  Kind   `yaml:"kind"`
	// Severity is the harm to a node. Rank orders the bugs of one severity: 1, 2, ...;
	// bugs without a rank come last.
	Severity Severity `yaml:"severity"`
	Rank     int      `yaml:"rank,omitempty"`
	// Trigger is the event on a node that leads to the bug.
	Trigger string `yaml:"trigger"`
	// Symptoms are the effects that users see and report.
	Symptoms Symptoms `yaml:"symptoms,omitempty"`
	// Left are the findings that a run of the bug's case must have on an affected release.
	// If OneOf is set, one of them is enough. May are findings that some runs have in
	// addition. Findings that follow from another one need no entry (compare.Companions).
	Left  []finding.Match `yaml:"left,omitempty"`
	May   []finding.Match `yaml:"may,omitempty"`
	OneOf bool            `yaml:"oneOf,omitempty"`
	// Beside are the ids of other bugs that its case also shows.
	Beside []string `yaml:"beside,omitempty,flow"`
	// Window names the functions of containerd in which the bug is triggered, with the
	// lines of the newest affected release. Example: "binary.Start
	// core/runtime/v2/binary.go:105..140". Package repro/rank ranks a bug higher if its
	// Window has a function that the user's logs or stacks name.
	Window string `yaml:"window,omitempty"`
	// Releases says which releases have the bug.
	Releases affected.Releases `yaml:"releases"`
	// Threads are upstream issues and changes: "issue containerd#8981".
	Threads []Thread `yaml:"threads,omitempty"`
	// Why is the cause, in at most 60 words.
	Why string `yaml:"why"`
	// Verified is the evidence, with figures.
	Verified Verified `yaml:"verified"`
	// Odds is how many runs of the case showed the bug on the newest release with it: "19
	// of 20". A bug with a case needs it.
	Odds rate.Odds `yaml:"odds,omitempty"`
	// Until is a workaround for operators.
	Until string `yaml:"until,omitempty"`
	// Takes are the conditions on a node without which the bug does not occur, such as
	// "nri-refused". Only bugs without a case have them. Package repro/read defines them.
	Takes []string `yaml:"takes,omitempty,flow"`
	// Tried describes the attempts to reproduce a bug that has no case.
	Tried string `yaml:"tried,omitempty"`
	// Cases reproduce the bug, the most reliable one first.
	Cases []harness.Case `yaml:"-"`
	// Sweep are the findings of a sweep that the bug explains; nil: none.
	Sweep *Excuse `yaml:"-"`
	// Residue is set if the oracle does not report the bug as a violation.
	Residue *residue.Known `yaml:"-"`
}

// Kind is the kind of a bug.
type Kind string

// The kinds.
const (
	Defect      Kind = "defect"
	Race        Kind = "race"
	Unconfirmed Kind = "unconfirmed"
	Residue     Kind = "residue"
)

// Kinds are all kinds.
var Kinds = []Kind{Defect, Race, Unconfirmed, Residue}

// Means explains a kind to a person.
func (k Kind) Means() string {
	return map[Kind]string{
		Defect:      "its trigger happens on real nodes",
		Race:        "its trigger happens on real nodes, and the timing decides whether the bug shows",
		Unconfirmed: "only an injected error shows it, and containerd is not known to return this error there",
		Residue:     "harmless and expected, so a run with it does not fail",
	}[k]
}

// Severity is the harm of a bug to a node.
type Severity string

// The severities, the worst first.
const (
	Critical Severity = "critical"
	High     Severity = "high"
	Medium   Severity = "medium"
	Low      Severity = "low"
)

// Severities are all severities, the worst first.
var Severities = []Severity{Critical, High, Medium, Low}

// Symptoms are the effects that users see, by the tool that shows them.
type Symptoms struct {
	// Log are lines of containerd's, kubelet's or dockerd's log: regular expressions.
	Log []*regexp.Regexp `yaml:"log,omitempty"`
	// The other fields describe what `ps`, `ctr`, `crictl`, `docker` and the event stream
	// show. Only people read them.
	PS     []string `yaml:"ps,omitempty"`
	Ctr    []string `yaml:"ctr,omitempty"`
	Crictl []string `yaml:"crictl,omitempty"`
	Docker []string `yaml:"docker,omitempty"`
	Events []string `yaml:"events,omitempty"`
}

// Verified is the evidence for a bug.
type Verified struct {
	// By are the kinds of evidence: ran (a run showed it), read (containerd's source was
	// read), reported (an upstream thread has it).
	By []Way `yaml:"by,flow"`
	// How describes the runs and the check of the source, with figures that Odds lacks.
	How string `yaml:"how,omitempty"`
}

// Way is a kind of evidence.
type Way string

// The kinds of evidence.
const (
	Ran      Way = "ran"
	Read     Way = "read"
	Reported Way = "reported"
)

var ways = []Way{Ran, Read, Reported}

// Case returns the case that shows the bug best; ok is false without a case.
func (b Bug) Case() (c harness.Case, ok bool) {
	if len(b.Cases) == 0 {
		return harness.Case{}, false
	}
	return b.Cases[0], true
}

// StateOf returns the state of a containerd's version: a release, perhaps with fixes
// (v2.4.2+NAME). A fix ends the bugs that it closes.
func (b Bug) StateOf(version string) affected.State {
	if slices.Contains(fixes.Closed(version), b.ID) {
		return affected.Free
	}
	return b.Releases.StateOf(version)
}

// Applies reports whether a containerd of this version is known to have the bug.
func (b Bug) Applies(version string) bool { return b.StateOf(version) == affected.Bad }

// MayApply reports whether it may have the bug.
func (b Bug) MayApply(version string) bool { return b.StateOf(version) != affected.Free }

// Means explains a severity to a person.
func (s Severity) Means() string {
	return map[Severity]string{
		Critical: "everyday operation loses a container, leaks a shim or gives a wrong result",
		High:     "a leftover stays until an operator removes it, or a fault leads to a wrong exit code",
		Medium:   "a restart or another call of the client repairs it, or only a rare fault triggers it",
		Low:      "it causes a wrong or missing event or leaves an empty directory, or needs a very rare fault",
	}[s]
}
