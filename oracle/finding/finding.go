// Package finding answers: what does not hold? A [Finding] is an invariant, a class of
// things, one subject, and facts. A [Match] recognises findings by their class and facts.
//
// Sentences are made of findings by package wording, and nothing reads these.
package finding

import (
	"cmp"
	"slices"
	"strings"

	"github.com/shimquake/shimquake/oracle/fact"
)

// Invariant is one of the rules of docs/verdict.md.
type Invariant string

// The invariants.
const (
	Leak     Invariant = "leak"      // something was left behind
	Exit     Invariant = "exit"      // somebody reported a wrong exit code, or nobody any
	End      Invariant = "end"       // a container ended otherwise than its workload says
	Event    Invariant = "event"     // exit and delete did not arrive once and in order
	Liveness Invariant = "liveness"  // the id cannot be used again, or containerd does not answer
	Forgot   Invariant = "forgotten" // a container's process runs that containerd does not know
	Others   Invariant = "others"    // what was done to one container did something to another
	Loss     Invariant = "loss"      // something is gone that was there before
	Net      Invariant = "network"   // CNI was called for a pod otherwise than it may be
	Status   Invariant = "status"    // CRI says of a container or a sandbox what is not so
	Residue  Invariant = "residue"   // a note: a known residue did not appear where it should
)

// Finding is one thing that does not hold: which rule, about what, and what is known of
// it. Package wording makes sentences of it for people; no code reads
// them.
type Finding struct {
	Invariant Invariant  `json:"invariant"`
	Class     Class      `json:"class"`
	Subject   Subject    `json:"subject"`
	Facts     fact.Facts `json:"facts"`
	// Known is the id of the known residue that explains the finding; such a finding does
	// not violate.
	Known string `json:"known,omitempty"`
	// Because says when releases leave a residue, for people: of a finding that is known,
	// and of a note.
	Because string `json:"because,omitempty"`
}

// Subject is the one thing that a finding is about. The zero value of a field means that
// it has none.
type Subject struct {
	Namespace string `json:"namespace,omitempty"` // containerd namespace
	ID        string `json:"id,omitempty"`        // container, task, sandbox or lease
	Pod       string `json:"pod,omitempty"`       // the id of its sandbox, or of the first of its group
	Exec      string `json:"exec,omitempty"`      // of the container
	PID       int    `json:"pid,omitempty"`       // in the scene's PID namespace
	Start     uint64 `json:"start,omitempty"`     // of the process, in clock ticks since boot
	Path      string `json:"path,omitempty"`      // inside the scene; cgroups: on the host
	Name      string `json:"name,omitempty"`      // a process's command line, a shim's program
}

// String returns the invariant, the class, the subject's id and the facts. It is for logs
// of tests; package wording makes the sentence for people.
func (f Finding) String() string {
	words := []string{string(f.Invariant), string(f.Class)}
	for _, w := range []string{f.Subject.ID, f.Subject.Exec, f.Subject.Path, f.Facts.String()} {
		if w != "" {
			words = append(words, w)
		}
	}
	return strings.Join(words, " ")
}

// Violates reports whether the finding breaks its invariant: it is neither a known
// residue nor a note.
func (f Finding) Violates() bool { return f.Known == "" && f.Invariant != Residue }

// Violations are the findings that violate.
func Violations(all []Finding) []Finding {
	return slices.DeleteFunc(slices.Clone(all), func(f Finding) bool { return !f.Violates() })
}

// Sort orders findings by class as in Classes, then by subject and facts, so that two
// runs print alike.
func Sort(all []Finding) {
	slices.SortStableFunc(all, func(a, b Finding) int {
		x, y := a.Subject, b.Subject
		return cmp.Or(
			cmp.Compare(slices.Index(Classes, a.Class), slices.Index(Classes, b.Class)),
			cmp.Compare(x.PID, y.PID), strings.Compare(x.Path, y.Path), strings.Compare(x.Namespace, y.Namespace),
			strings.Compare(x.ID, y.ID), strings.Compare(x.Exec, y.Exec), strings.Compare(x.Name, y.Name),
			strings.Compare(a.Facts.String(), b.Facts.String()),
		)
	})
}
