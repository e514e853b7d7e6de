package audit

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/shimquake/shimquake/oracle/fact"
	"github.com/shimquake/shimquake/oracle/finding"
	"github.com/shimquake/shimquake/oracle/wording"
)

// kind has the functions for the suspects of a class.
type kind struct {
	class finding.Class
	// read reads the kind's objects on the disk into the view. It is nil if another kind or
	// the view reads them.
	read func(*viewing) error
	find func(*comparison)
}

// kinds has all kinds, in the order of reports. If several objects of a container are
// suspects, the object with the first kind is the head, and With lists the others.
var kinds = []kind{
	{finding.ClassShim, nil, (*comparison).shims},
	{finding.ClassProcess, nil, (*comparison).forgotten},
	{finding.ClassTask, nil, (*comparison).tasks},
	{finding.ClassContainer, nil, (*comparison).inCRI},
	{finding.ClassBundle, (*viewing).bundles, (*comparison).bundles},
	{finding.ClassRuncState, (*viewing).runcStates, (*comparison).runcStates},
	{finding.ClassCgroup, nil, (*comparison).cgroups},
	{finding.ClassMount, (*viewing).mounts, (*comparison).mounts}, // reads the cgroups, too
	{finding.ClassSocket, (*viewing).sockets, (*comparison).sockets},
}

// Kinds returns the classes of all kinds.
func Kinds() (classes []finding.Class) {
	for _, k := range kinds {
		classes = append(classes, k.class)
	}
	return classes
}

// Certainty is the certainty of a suspicion.
type Certainty string

// Certain means that containerd does not know the object, or cannot use it again. Likely
// means that not every containerd responded, or that there may be a harmless explanation.
const (
	Certain Certainty = "certain"
	Likely  Certainty = "likely"
)

// Suspect is an object without an owner.
type Suspect struct {
	Kind            finding.Class `json:"kind"`
	Sure            Certainty     `json:"sure"`
	finding.Subject               // its pid is the one that the auditor sees
	Age             time.Duration `json:"ageNs,omitempty"`
	// Changed is the time of the file's last change, from which its age is computed.
	Changed time.Time `json:"changed,omitzero"`
	// Missing names the missing objects: "task", "bundle".
	Missing []string   `json:"missing"`
	Facts   fact.Facts `json:"facts"`
	// With lists the other leaked objects of the same container.
	With []string `json:"with,omitempty"`
	// Living are the running processes that may serve: the children of a shim, or the
	// forgotten process of a container.
	Living []Living `json:"living,omitempty"`
	// View identifies the containerd, by its root directory. Version is its version.
	View    string `json:"view,omitempty"`
	Version string `json:"version,omitempty"`
	// Bug is the only known bug that leaves such an object on this version, or "". Alike
	// is the number of bugs that may leave it. The facts cannot tell two of them apart.
	Bug   string `json:"bug,omitempty"`
	Alike int    `json:"bugsAlike"`
	// Check must hold before a person follows Do.
	Check string `json:"check,omitempty"`
	Do    string `json:"do"`
}

// Living is a running process that may serve.
type Living struct {
	PID     int           `json:"pid"`
	Age     time.Duration `json:"ageNs"`
	Command string        `json:"command,omitempty"` // may have secrets, so evidence leaves it out
}

// The audit scans the node twice, and keeps the suspects of both scans. key identifies
// a suspect in both. It contains the start time of a process, and the time of a file's
// last change. So a new object with the same id is another suspect.
func (s Suspect) key() string {
	return fmt.Sprint(s.Kind, s.View, s.Namespace, s.ID, s.PID, s.Start, s.Path, s.Changed.UnixNano())
}

// order sorts suspects by containerd, kind, certainty, age and name.
func order(all []Suspect) {
	names := Kinds()
	slices.SortFunc(all, func(a, b Suspect) int {
		return cmp.Or(
			strings.Compare(a.View, b.View),
			cmp.Compare(slices.Index(names, a.Kind), slices.Index(names, b.Kind)),
			strings.Compare(string(a.Sure), string(b.Sure)), // "certain" before "likely"
			cmp.Compare(b.Age, a.Age),
			cmp.Compare(a.PID, b.PID),
			strings.Compare(a.Path+a.ID, b.Path+b.ID),
			strings.Compare(a.Namespace, b.Namespace),
		)
	})
}

// fold merges the suspects of each container: the first is the head, and its With lists
// the others.
func fold(all []Suspect) []Suspect {
	order(all)
	heads := map[string]int{} // indexes in out, by view and id
	var out []Suspect
	for _, s := range all {
		name := s.View + "\n" + s.ID
		at, isKnown := heads[name]
		if isKnown && sameNamespace(out[at], s) {
			out[at].With = append(out[at].With, s.what())
			continue
		}
		if !isKnown && s.ID != "" {
			heads[name] = len(out)
		}
		out = append(out, s)
	}
	return out
}

func sameNamespace(a, b Suspect) bool {
	return a.Namespace == b.Namespace || a.Namespace == "" || b.Namespace == ""
}

// Finding returns the finding that a run would have for the object.
func (s Suspect) Finding() finding.Finding {
	return finding.Finding{Invariant: finding.Leak, Class: s.Kind, Subject: s.Subject, Facts: s.Facts}
}

// advice returns what an operator can do about the suspect, and the check before. If the
// suspect is not certain, it may serve, so no process should be ended.
func (s Suspect) advice() (check, do string) {
	f := s.Finding()
	if s.Sure != Certain {
		f.Because = string(s.Sure) // for the rows of package finding
		return "", wording.Advice(f)
	}
	return wording.Check(f), wording.Advice(f)
}

// The method what returns the kind and the path or the pid of the object.
func (s Suspect) what() string {
	switch {
	case s.Path != "":
		return string(s.Kind) + " " + s.Path
	case s.PID != 0:
		return fmt.Sprintf("%s %d", s.Kind, s.PID)
	}
	return string(s.Kind)
}
