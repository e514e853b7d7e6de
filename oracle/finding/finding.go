// Package finding answers: which statement does not hold? A [Finding] has an invariant, a
// class, one subject, and facts. A [Match] recognizes findings by their class and facts.
//
// Package wording turns findings into sentences. No code reads these sentences.
package finding

import (
	"cmp"
	"slices"
	"strings"

	"github.com/shimquake/shimquake/oracle/fact"
)

// Invariant is a statement that must hold. Several rules of the judge can find that it
// does not.
type Invariant string

// The invariants.
const (
	Leak     Invariant = "leak"      // an object was left behind.
	Exit     Invariant = "exit"      // an exit status was reported wrongly, or not at all.
	End      Invariant = "end"       // a container did not end as its workload says.
	Event    Invariant = "event"     // an event is missing, wrong, repeated or out of order.
	Liveness Invariant = "liveness"  // an id cannot be used again, or containerd does not respond.
	Forgot   Invariant = "forgotten" // containerd does not know a running process of a container.
	Others   Invariant = "others"    // a fault in one container affected another one.
	Loss     Invariant = "loss"      // an object that existed before is gone.
	Net      Invariant = "network"   // containerd called CNI wrongly for a pod.
	Status   Invariant = "status"    // CRI reported a wrong status of a container or a sandbox.
	Residue  Invariant = "residue"   // a note: a known residue did not appear where it should
)

// Finding is one violation of an invariant.
type Finding struct {
	Invariant Invariant  `json:"invariant"`
	Class     Class      `json:"class"`
	Subject   Subject    `json:"subject"`
	Facts     fact.Facts `json:"facts"`
	// Known is the id of the known residue that explains the finding. Such a finding does
	// not make the case violated.
	Known string `json:"known,omitempty"`
	// Because says, for a person, when releases leave the residue. Only known findings
	// and notes have this field.
	Because string `json:"because,omitempty"`
}

// Subject identifies the object of a finding. A zero field is unknown or does not apply.
type Subject struct {
	Namespace string `json:"namespace,omitempty"` // containerd namespace.
	ID        string `json:"id,omitempty"`        // container, task, sandbox or lease.
	Pod       string `json:"pod,omitempty"`       // the id of the pod's sandbox, or of the first container of the group.
	Exec      string `json:"exec,omitempty"`      // the exec in the container.
	PID       int    `json:"pid,omitempty"`       // in the tested PID namespace.
	Start     uint64 `json:"start,omitempty"`     // when the process started, in clock ticks since boot.
	Path      string `json:"path,omitempty"`      // in the tested mount namespace; for a cgroup, on the host.
	Name      string `json:"name,omitempty"`      // a process's command line, a shim's program.
}

// String returns the invariant, the class, the subject's id and the facts. It is for logs
// of tests. Package wording has the sentences for people.
func (f Finding) String() string {
	words := []string{string(f.Invariant), string(f.Class)}
	for _, w := range []string{f.Subject.ID, f.Subject.Exec, f.Subject.Path, f.Facts.String()} {
		if w != "" {
			words = append(words, w)
		}
	}
	return strings.Join(words, " ")
}

// Violates reports whether the finding makes a case violated: it is neither a known
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
