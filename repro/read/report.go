// Package read turns a pasted report of a leak into observations with a type, such as
// "a shim without children". It reads the output of ps, ctr, crictl, docker and the
// journal, in any order and form. It is pure, and knows no bugs.
package read

import (
	"slices"

	"github.com/shimquake/shimquake/oracle/fact"
	"github.com/shimquake/shimquake/oracle/finding"
	"github.com/shimquake/shimquake/repro/statement"
)

// Report has the observations of a text.
type Report struct {
	// Lines is the number of lines that are not blank, and Understood the number of lines
	// with an observation. Cut is the number of unread bytes of a text beyond MaxBytes.
	Lines      int `json:"lines"`
	Understood int `json:"understood"`
	Cut        int `json:"cut,omitempty"`
	// Other are the first lines without an observation, and Others is their total number.
	Other  []Line `json:"other,omitempty"`
	Others int    `json:"others,omitempty"`
	// Versions are the releases of containerd that the report names, the surest first.
	Versions []Version `json:"versions,omitempty"`
	// Client is the client that runs the containers: kubelet, dockerd or ctr, or "" if no
	// line names it.
	Client Client `json:"client,omitempty"`
	// Seen are the observations, in the order of their lines.
	Seen []Observation `json:"seen,omitempty"`
}

// Line is a line of the text, from 1.
type Line struct {
	N    int    `json:"line"`
	Text string `json:"text"`
}

// Version is a release of containerd that a line names.
type Version struct {
	Release string `json:"release"` // v1.7.2
	Line    int    `json:"line"`
	// By is the kind of line that names it.
	By Source `json:"by"`
}

// Source is the kind of line that names a release, the least reliable first.
type Source int

// The sources.
const (
	inWords  Source = iota // a sentence
	byOutput               // the output of a program, such as containerd --version
	byLog                  // containerd's log of its start, or a package manager's log of its upgrade
)

// FromProgram reports whether the output or the log of a program names the release, and
// not only a sentence.
func (s Source) FromProgram() bool { return s > inWords }

// Client is the client that runs the containers.
type Client string

// The clients.
const (
	Kubelet Client = "kubelet"
	Dockerd Client = "dockerd"
	Ctr     Client = "ctr"
)

// Observation is a typed fact of the report.
type Observation struct {
	What Kind `json:"what"`
	// Facts are the facts of the matching finding, if there is one.
	Facts fact.Facts `json:"facts"`
	// Namespace, ID and PID identify its container or process, if they are known.
	Namespace string `json:"namespace,omitempty"`
	ID        string `json:"id,omitempty"`
	PID       int    `json:"pid,omitempty"`
	// Text is a function, the number of an issue, or a logged message without the parts that
	// differ between cases.
	Text string `json:"text,omitempty"`
	// Raw is a logged message without changes, and Level is its log level.
	Raw   string `json:"raw,omitempty"`
	Level string `json:"level,omitempty"`
	// Made are the statements of containerd that make a logged message.
	Made statement.Match `json:"-"`
	// Usual is set for a message that containerd also logs in normal operation.
	Usual bool `json:"usual,omitempty"`
	// Logged is set if only a log message shows the observation, and no listing.
	Logged bool `json:"logged,omitempty"`
	// Lines are the first lines with the observation, and Count is their total number.
	Lines []int `json:"lines"`
	Count int   `json:"count"`
}

// Class returns the class of the matching finding, or "".
func (o Observation) Class() finding.Class { return kinds[o.What].left.Class }

// Sort returns the use of the observation.
func (o Observation) Sort() Sort { return kinds[o.What].sort }

// Complains reports whether it is a warning or an error that containerd logged.
func (o Observation) Complains() bool {
	return slices.Contains([]string{"warning", "warn", "error", "fatal"}, o.Level) && len(o.Made.Chain) > 0
}

// Version returns the release of the report, or "".
func (r Report) Version() string {
	if len(r.Versions) == 0 {
		return ""
	}
	return r.Versions[0].Release
}

// BySort returns the observations of a sort.
func (r Report) BySort(s Sort) (out []Observation) {
	for _, o := range r.Seen {
		if o.Sort() == s {
			out = append(out, o)
		}
	}
	return out
}

// Has reports whether the report has an observation of a kind.
func (r Report) Has(w Kind) bool {
	return slices.ContainsFunc(r.Seen, func(o Observation) bool { return o.What == w })
}
