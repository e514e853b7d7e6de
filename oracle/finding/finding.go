// Package finding answers: what does not hold? A [Finding] is an invariant, a class, one
// subject, and facts. A [Match] recognizes findings by their class and facts.
//
// Package wording makes sentences of findings, and no code reads these.
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
	Leak     Invariant = "leak"      // a thing was left behind.
	Exit     Invariant = "exit"      // an exit status was reported wrongly, or not at all.
	End      Invariant = "end"       // a container did not end as its workload says.
	Event    Invariant = "event"     // exit and delete did not arrive once and in order.
	Liveness Invariant = "liveness"  // an id cannot be used again, or containerd does not respond.
	Forgot   Invariant = "forgotten" // containerd does not know a running process of a container.
	Others   Invariant = "others"    // a fault of one container affected another one.
	Loss     Invariant = "loss"      // an earlier thing has gone.
	Net      Invariant = "network"   // a wrong call of CNI for a pod.
	Status   Invariant = "status"    // a wrong status of CRI for a container or a sandbox.
	Residue  Invariant = "residue"   // a note: a known residue did not appear where it should
)

// Finding is one violation: the invariant, the subject and the facts. Package wording
// makes sentences of it for people; no code reads them.
type Finding struct {
	Invariant Invariant  `json:"invariant"`
	Class     Class      `json:"class"`
	Subject   Subject    `json:"subject"`
	Facts     fact.Facts `json:"facts"`
	// Known is the id of the known residue that explains the finding; such a finding does
	// not violate.
	Known string `json:"known,omitempty"`
	// Because says when releases leave a residue, for a person. Known findings and notes
	// have it.
	Because string `json:"because,omitempty"`
}

// Subject identifies the subject of a finding. A zero field is unknown or does not apply.
type Subject struct {
	Namespace string `json:"namespace,omitempty"` // containerd namespace.
	ID        string `json:"id,omitempty"`        // container, task, sandbox or lease
	Pod       string `json:"pod,omitempty"`       // the id of its sandbox, or of the first of its group.
	Exec      string `json:"exec,omitempty"`      // of the container
	PID       int    `json:"pid,omitempty"`       // in the scene's PID namespace
	Start     uint64 `json:"start,omitempty"`     // of the process, in clock ticks since boot.
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

// Violations returns the findings that violate.
func Violations(all []Finding) []Finding {
	return slices.DeleteFunc(slices.Clone(all), func(f Finding) bool { return !f.Violates() })
}

// Sort orders findings by class as in Classes, then by subject and facts, so that two
// runs print the same.
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
