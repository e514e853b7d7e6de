package catalogue

import (
	"regexp"

	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/oracle/affected"
	"github.com/shimquake/shimquake/oracle/finding"
	"github.com/shimquake/shimquake/oracle/residue"
)

// Bug is everything that is known about one bug, from a file in bugs/. It is the source
// of a sweep's excuses, the oracle's residues, the pages of docs/bugs/ and the matrix.
// The search for the bug of a report uses it, too.
type Bug struct {
	// ID is containerd-NUMBER if upstream has an issue for exactly this bug, else words.
	ID string `yaml:"id"`
	// Title is the loss for a user, in at most 70 characters.
	Title string `yaml:"title"`
	Kind  Kind   `yaml:"kind"`
	// Severity is the harm to a node. Rank orders the bugs of one severity: 1, 2, ...;
	// bugs without a rank come last.
	Severity Severity `yaml:"severity"`
	Rank     int      `yaml:"rank,omitempty"`
	// Trigger is the trigger on a node.
	Trigger string `yaml:"trigger"`
	// Symptoms are the visible effects that people report.
	Symptoms Symptoms `yaml:"symptoms,omitempty"`
	// Left are the findings of its case on a bad release: all of these or, with OneOf, at
	// least one. May are possible further findings. Their companions in the same
	// container or pod need no entry (compare.Companions).
	Left  []finding.Match `yaml:"left,omitempty"`
	May   []finding.Match `yaml:"may,omitempty"`
	OneOf bool            `yaml:"oneOf,omitempty"`
	// Beside are other bugs that its case also shows, on releases with those bugs.
	Beside []string `yaml:"beside,omitempty,flow"`
	// Window is the place in containerd's code, in the newest release with the bug: one
	// function or line a word, "binary.Start core/runtime/v2/binary.go:105..140".
	Window string `yaml:"window,omitempty"`
	// Releases are the releases with the bug, branch by branch.
	Releases affected.Releases `yaml:"releases"`
	// Threads are upstream's threads, each with a word: "issue containerd#8981".
	Threads []Thread `yaml:"threads,omitempty"`
	// Why is the cause, in at most 60 words or so.
	Why string `yaml:"why"`
	// Verified is the evidence, with figures.
	Verified Verified `yaml:"verified"`
	// Odds is how often the case showed the bug on the last bad release: "20 of 20". A
	// bug with a case has them.
	Odds Odds `yaml:"odds,omitempty"`
	// Until is the workaround for operators before the upgrade.
	Until string `yaml:"until,omitempty"`
	// Takes are the conditions on a node, in the words of repro/read, of a bug without a
	// case: "nri-refused".
	Takes []string `yaml:"takes,omitempty,flow"`
	// Tried describes the failed attempts to show a bug without a case.
	Tried string `yaml:"tried,omitempty"`
	// Cases show the bug, the surest first: `shimquake run ID`, or the case's own name.
	Cases []harness.Case `yaml:"-"`
	// Sweep are the findings that a sweep may excuse by the bug; nil: none.
	Sweep *Excuse `yaml:"-"`
	// Residue is set if the oracle does not call the bug a violation.
	Residue *residue.Known `yaml:"-"`
}

// Kind is the kind of a bug.
type Kind string

// The kinds.
const (
	Defect  Kind = "defect"  // a real fault at that place shows it every time.
	Race    Kind = "race"    // it depends on timing.
	Lead    Kind = "lead"    // only after an error that the function cannot return.
	Residue Kind = "residue" // known leftovers that are no violation
)

var kinds = []Kind{Defect, Race, Lead, Residue}

// Severity is the harm of a bug to a node.
type Severity string

// The severities, the worst first.
const (
	// Critical: a wrong result, or a healthy container lost, in everyday operation.
	Critical Severity = "critical"
	// High: a leftover stays until it is removed by hand, or an id cannot be used.
	High Severity = "high"
	// Medium: a restart fixes it, or little is left.
	Medium Severity = "medium"
	// Low: an event, an empty directory, or a leftover of a very rare fault.
	Low Severity = "low"
)

var severities = []Severity{Critical, High, Medium, Low}

// Symptoms are the visible effects, by the tool that shows them.
type Symptoms struct {
	// Log are lines of containerd's, kubelet's or dockerd's log: regular expressions.
	Log []Regexp `yaml:"log,omitempty"`
	// The others are texts for people, as `ps`, `ctr`, `crictl`, `docker` and the stream
	// of events show them. Programs compare such an output with Left.
	PS     []string `yaml:"ps,omitempty"`
	Ctr    []string `yaml:"ctr,omitempty"`
	Crictl []string `yaml:"crictl,omitempty"`
	Docker []string `yaml:"docker,omitempty"`
	Events []string `yaml:"events,omitempty"`
}

// Regexp is a regular expression in YAML.
type Regexp struct{ *regexp.Regexp }

// UnmarshalYAML is for the YAML library.
func (r *Regexp) UnmarshalYAML(unmarshal func(any) error) error {
	var text string
	if err := unmarshal(&text); err != nil {
		return err
	}
	re, err := regexp.Compile(text)
	r.Regexp = re
	return err
}

// Verified is the evidence for a bug.
type Verified struct {
	// By are the kinds of evidence: ran (a case showed it), read (in the source),
	// reported (by upstream).
	By []Way `yaml:"by,flow"`
	// How describes the runs and the source, with figures.
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

// Applies reports whether a release is known to have the bug.
func (b Bug) Applies(release string) bool { return b.Releases.Applies(release) }

// Means explains a severity to a person.
func (s Severity) Means() string {
	return map[Severity]string{
		Critical: "a wrong result, or a healthy container lost, in everyday operation",
		High:     "a leftover stays until it is removed by hand, or an exit code is wrong after a fault",
		Medium:   "a restart fixes it, or it takes a rare fault",
		Low:      "an event, an empty directory, or a leftover of a very rare fault",
	}[s]
}
