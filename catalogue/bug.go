package catalogue

import (
	"regexp"

	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/oracle/affected"
	"github.com/shimquake/shimquake/oracle/finding"
	"github.com/shimquake/shimquake/oracle/residue"
)

// Bug is all that is known of one bug: data, a file each in bugs/. What a sweep excuses,
// what the oracle takes for a residue, the pages of docs/bugs/, the matrix and the search
// for what a report tells of are made from it.
type Bug struct {
	// ID is containerd-NUMBER where upstream has an issue that is just this, else words.
	ID string `yaml:"id"`
	// Title says in at most 70 characters what a user loses.
	Title string `yaml:"title"`
	Kind  Kind   `yaml:"kind"`
	// Severity says what it does to a node, and Rank which of one severity comes first: 1,
	// 2, ...; those without come after those with one.
	Severity Severity `yaml:"severity"`
	Rank     int      `yaml:"rank,omitempty"`
	// Trigger is what sets it off on a node.
	Trigger string `yaml:"trigger"`
	// Symptoms are what people see of it, and paste.
	Symptoms Symptoms `yaml:"symptoms,omitempty"`
	// Left is what its case leaves, or tells, on a release that has it: all of these, or,
	// with OneOf, at least one. May is what may come besides. What is of the same container
	// or pod goes without saying (compare.Companions).
	Left  []finding.Match `yaml:"left,omitempty"`
	May   []finding.Match `yaml:"may,omitempty"`
	OneOf bool            `yaml:"oneOf,omitempty"`
	// Beside are other bugs that its case shows as well, on releases that have those.
	Beside []string `yaml:"beside,omitempty,flow"`
	// Window is the place in containerd's code, as of the newest release that has it: one
	// function or line a word, "binary.Start core/runtime/v2/binary.go:105..140".
	Window string `yaml:"window,omitempty"`
	// Releases are those that have it, branch by branch.
	Releases affected.Releases `yaml:"releases"`
	// Threads are upstream's, each with a word: "issue containerd#8981".
	Threads []Thread `yaml:"threads,omitempty"`
	// Why it happens, in at most 60 words or so.
	Why string `yaml:"why"`
	// Verified says how all this is known, and with what figures.
	Verified Verified `yaml:"verified"`
	// Odds are how often the case showed it on the last release that has it: "20 of 20". A
	// bug with a case has them.
	Odds Odds `yaml:"odds,omitempty"`
	// Until says what an operator can do until a fixed release runs.
	Until string `yaml:"until,omitempty"`
	// Takes are what must happen on a node, by the words of repro/read, of a bug without a
	// case, which would tell: "nri-refused".
	Takes []string `yaml:"takes,omitempty,flow"`
	// Tried says what was done in vain to show a bug that has no case.
	Tried string `yaml:"tried,omitempty"`
	// Cases show it, the surest first: `shimquake run ID`, or the case's own name.
	Cases []harness.Case `yaml:"-"`
	// Sweep is what a sweep may excuse by it; nil: nothing.
	Sweep *Excuse `yaml:"-"`
	// Residue is set for what the oracle does not call a violation.
	Residue *residue.Known `yaml:"-"`
}

// Kind says what sort of thing a bug is.
type Kind string

// The kinds.
const (
	Defect  Kind = "defect"  // a real fault at that place does it, each time
	Race    Kind = "race"    // it depends on luck as well
	Lead    Kind = "lead"    // only if a function could fail that does not, or after its work
	Residue Kind = "residue" // what releases are known to leave, and is no violation
)

var kinds = []Kind{Defect, Race, Lead, Residue}

// Severity says what a bug does to a node.
type Severity string

// The severities, the worst first.
const (
	// Critical: a wrong result, or a healthy container lost, in everyday operation.
	Critical Severity = "critical"
	// High: what is left stays until somebody removes it by hand, or an id cannot be used.
	High Severity = "high"
	// Medium: a restart fixes it, or little is left.
	Medium Severity = "medium"
	// Low: an event, an empty directory, or what only a fault that hardly happens leaves.
	Low Severity = "low"
)

var severities = []Severity{Critical, High, Medium, Low}

// Symptoms are what people see, by the tool that shows it.
type Symptoms struct {
	// Log are lines of containerd's, kubelet's or dockerd's log: regular expressions.
	Log []Regexp `yaml:"log,omitempty"`
	// The others are words for people: what `ps`, `ctr`, `crictl`, `docker` and the stream
	// of events show. What a program reads of such an output it compares with Left.
	PS     []string `yaml:"ps,omitempty"`
	Ctr    []string `yaml:"ctr,omitempty"`
	Crictl []string `yaml:"crictl,omitempty"`
	Docker []string `yaml:"docker,omitempty"`
	Events []string `yaml:"events,omitempty"`
}

// Regexp is one that is read from YAML.
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

// Verified says how a bug is known.
type Verified struct {
	// By are the ways: ran (a case showed it), read (in the source), reported (upstream
	// tells it).
	By []Way `yaml:"by,flow"`
	// How says what was run and read, with figures.
	How string `yaml:"how,omitempty"`
}

// Way is how something is known.
type Way string

// The ways.
const (
	Ran      Way = "ran"
	Read     Way = "read"
	Reported Way = "reported"
)

var ways = []Way{Ran, Read, Reported}

// Case is the one that shows the bug best; ok is false where there is none.
func (b Bug) Case() (c harness.Case, ok bool) {
	if len(b.Cases) == 0 {
		return harness.Case{}, false
	}
	return b.Cases[0], true
}

// Applies reports whether a release is known to have the bug.
func (b Bug) Applies(release string) bool { return b.Releases.Applies(release) }

// Means says what a severity is, for people.
func (s Severity) Means() string {
	return map[Severity]string{
		Critical: "a wrong result, or a healthy container lost, in everyday operation",
		High:     "what is left stays until it is removed by hand, or an exit code is wrong after a fault",
		Medium:   "a restart fixes it, or it takes a rare fault",
		Low:      "an event, an empty directory, or only if something fails that hardly does",
	}[s]
}
