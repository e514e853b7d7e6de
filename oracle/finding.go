package oracle

import (
	"cmp"
	"slices"
	"strings"
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
	Residue  Invariant = "residue"   // a note: a known residue did not appear where it should
)

// Class is the kind of thing that a finding is about.
type Class string

// The classes of what does not leak.
const (
	ClassEnd       Class = "end"
	ClassExitCode  Class = "exit-code"
	ClassEvent     Class = "event"
	ClassDaemon    Class = "containerd" // the daemon itself
	ClassBystander Class = "bystander"  // a task or a pod that no fault was done to
)

// Classes are all classes, in the order in which findings are listed.
var Classes = append(slices.Clone(LeakClasses), ClassEnd, ClassExitCode, ClassEvent, ClassCRIStatus, ClassCRIEvent,
	ClassDaemon, ClassBystander)

// Finding is one thing that does not hold: which rule, about what, and what is known of
// it. Words are made of it by String, for people; no code reads them.
type Finding struct {
	Invariant Invariant `json:"invariant"`
	Class     Class     `json:"class"`
	Subject   Subject   `json:"subject"`
	Facts     Facts     `json:"facts"`
	// Known is the id of the known residue that explains the finding; such a finding does
	// not violate.
	Known string `json:"known,omitempty"`
	// Because says when releases leave a residue, for people: of a finding that is known, and
	// of a note.
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

// Violates reports whether the finding breaks its invariant: it is neither a known
// residue nor a note.
func (f Finding) Violates() bool { return f.Known == "" && f.Invariant != Residue }

// Violations are the findings that violate.
func Violations(all []Finding) []Finding {
	return slices.DeleteFunc(slices.Clone(all), func(f Finding) bool { return !f.Violates() })
}

// Sort orders findings by class as in Classes, then by subject and facts, so that two runs
// print alike.
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
