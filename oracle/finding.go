package oracle

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Invariant is one of the rules of docs/design.md, section "Oracle".
type Invariant string

// The invariants.
const (
	Leak     Invariant = "leak"      // something was left behind
	Exit     Invariant = "exit"      // somebody told a wrong exit code
	Event    Invariant = "event"     // exit and delete did not arrive once and in order
	Liveness Invariant = "liveness"  // the id cannot be used again, or containerd does not answer
	Forgot   Invariant = "forgotten" // a container's process runs that containerd does not know
	Residue  Invariant = "residue"   // a note: a known residue did not appear where it should
)

// Class is the kind of thing that a finding is about.
type Class string

// The classes.
const (
	ClassShim      Class = "shim"
	ClassProcess   Class = "process"
	ClassSocket    Class = "socket"
	ClassBundle    Class = "bundle"
	ClassCRIDir    Class = "cri-dir"
	ClassMount     Class = "mount"
	ClassCgroup    Class = "cgroup"
	ClassRuncState Class = "runc-state"
	ClassSnapshot  Class = "snapshot"
	ClassLease     Class = "lease"
	ClassFIFO      Class = "fifo"
	ClassContainer Class = "container"
	ClassTask      Class = "task"
	ClassSandbox   Class = "sandbox"
	ClassExitCode  Class = "exit-code"
	ClassEvent     Class = "event"
	ClassDaemon    Class = "containerd" // the daemon itself
)

// LeakClasses are the classes that [Leaks] can find. Each has a positive control.
var LeakClasses = []Class{
	ClassShim, ClassProcess, ClassSocket, ClassBundle, ClassCRIDir, ClassMount, ClassCgroup, ClassRuncState,
	ClassSnapshot, ClassLease, ClassFIFO, ClassContainer, ClassTask, ClassSandbox,
}

// Classes are all classes, in the order in which findings are listed.
var Classes = append(slices.Clone(LeakClasses), ClassExitCode, ClassEvent, ClassDaemon)

// Finding is one thing that does not hold.
type Finding struct {
	Invariant Invariant `json:"invariant"`
	Class     Class     `json:"class"`
	// What names the thing: "shim process 41", "/run/containerd/s/ab12".
	What string `json:"what"`
	// Reason says why it is one, in words, parts joined by "; ".
	Reason string `json:"reason"`
	// Known is the id of the known residue that explains the finding; such a finding does not violate.
	Known string `json:"known,omitempty"`

	Namespace string            `json:"namespace,omitempty"` // containerd namespace
	ID        string            `json:"id,omitempty"`        // container, task, sandbox or lease
	PID       int               `json:"pid,omitempty"`       // in the scene's PID namespace
	Path      string            `json:"path,omitempty"`      // inside the scene; cgroups: on the host
	Details   map[string]string `json:"details,omitempty"`
}

// Violates tells whether the finding breaks its invariant: it is neither a known residue nor a note.
func (f Finding) Violates() bool { return f.Known == "" && f.Invariant != Residue }

// String is one line for a human.
func (f Finding) String() string {
	s := fmt.Sprintf("%s %s: %s: %s", f.Invariant, f.Class, f.What, f.Reason)
	if f.Known != "" {
		s += " (known: " + f.Known + ")"
	}
	return s
}

// Violations are the findings that violate.
func Violations(all []Finding) []Finding {
	return slices.DeleteFunc(slices.Clone(all), func(f Finding) bool { return !f.Violates() })
}

// sortFindings orders by class as in Classes, then by name, so that two runs print alike.
func sortFindings(all []Finding) {
	slices.SortStableFunc(all, func(a, b Finding) int {
		return cmp.Or(
			cmp.Compare(slices.Index(Classes, a.Class), slices.Index(Classes, b.Class)),
			cmp.Compare(a.PID, b.PID),
			strings.Compare(a.What, b.What),
		)
	})
}
