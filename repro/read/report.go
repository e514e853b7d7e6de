// Package read makes typed facts of what people paste when they report a leak: ps, ctr,
// crictl, docker and the journal, in any order and however they were copied. It is pure,
// and knows no bug.
package read

import (
	"github.com/shimquake/shimquake/oracle/fact"
	"github.com/shimquake/shimquake/oracle/finding"
	"github.com/shimquake/shimquake/repro/statement"
)

// Report is what was understood of a text.
type Report struct {
	// Lines is how many lines were read that are not blank; Understood of these gave
	// something. Cut is how many bytes were left unread: the text is longer than
	// MostBytes.
	Lines      int `json:"lines"`
	Understood int `json:"understood"`
	Cut        int `json:"cut,omitempty"`
	// Other are the first lines that gave nothing, Others how many there are.
	Other  []Line `json:"other,omitempty"`
	Others int    `json:"others,omitempty"`
	// Versions of containerd, the surest first.
	Versions []Version `json:"versions,omitempty"`
	// Client is who runs the containers: kubelet, dockerd, ctr; "" where nothing tells.
	Client Client `json:"client,omitempty"`
	// Seen is what the report tells, in the order of its lines.
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
	// By says how.
	By Source `json:"by"`
}

// Source is how a line names a release, from the one that is least to be believed.
type Source int

// The sources.
const (
	inWords  Source = iota // a sentence does
	byOutput               // a program was asked: containerd --version
	byLog                  // containerd says so as it starts, or a package manager that has changed it
)

// Said reports whether a program has said it.
func (s Source) Said() bool { return s > inWords }

// Client is whose containers they are.
type Client string

// The clients.
const (
	Kubelet Client = "kubelet"
	Dockerd Client = "dockerd"
	Ctr     Client = "ctr"
)

// Observation is one thing that the report tells, as a typed fact.
type Observation struct {
	What What `json:"what"`
	// Facts are those of the oracle's, of a thing of What's class, where it has one.
	Facts fact.Facts `json:"facts"`
	// Namespace, ID and PID say of whom it is, where that is known.
	Namespace string `json:"namespace,omitempty"`
	ID        string `json:"id,omitempty"`
	PID       int    `json:"pid,omitempty"`
	// Text is a logged message without what is of one case only, a function, or the number
	// of an issue.
	Text string `json:"text,omitempty"`
	// Raw is a logged message as it stands, Level how bad its program says it is.
	Raw   string `json:"raw,omitempty"`
	Level string `json:"level,omitempty"`
	// Made are the statements of containerd that make a logged message.
	Made statement.Match `json:"-"`
	// Usual is set for a message that containerd logs where nothing is wrong, too.
	Usual bool `json:"usual,omitempty"`
	// Logged is set where a message tells it, and no listing.
	Logged bool `json:"logged,omitempty"`
	// Lines are the first that gave it, Count how often it was reported.
	Lines []int `json:"lines"`
	Count int   `json:"count"`
}

// Class is the oracle's class of the thing, or "".
func (o Observation) Class() finding.Class { return lefts[o.What].Class }

// Sort says what the observation can tell.
func (o Observation) Sort() Sort { return kinds[o.What].sort }

// Version is the release that the report is about, or "".
func (r Report) Version() string {
	if len(r.Versions) == 0 {
		return ""
	}
	return r.Versions[0].Release
}

// Of are the observations of a sort.
func (r Report) Of(s Sort) (out []Observation) {
	for _, o := range r.Seen {
		if o.Sort() == s {
			out = append(out, o)
		}
	}
	return out
}

// Tells reports whether something was seen.
func (r Report) Tells(w What) bool {
	for _, o := range r.Seen {
		if o.What == w {
			return true
		}
	}
	return false
}
