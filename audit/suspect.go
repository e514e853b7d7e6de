package audit

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Kind is the kind of thing that a suspect is: a class of the catalogue's.
type Kind string

// kind is how suspects of a kind are found: one file each.
type kind struct {
	name Kind
	// read takes what lies on the disk into the view; nil: another kind's does, or
	// look.go.
	read func(*viewing) error
	find func(*comparison) []Suspect
	// do is one line of what a careful operator can do. Nothing of it is done here.
	do func(Suspect) string
}

// kinds are all kinds, in the order in which they are listed. What stands earlier is the
// head of what is left of one container.
var kinds = []kind{
	shimKind, forgottenKind, lostTaskKind, inCRIKind, directoryKind, runcStateKind, groupKind, mountedKind, listenerKind,
}

// Kinds are their names.
func Kinds() (names []Kind) {
	for _, k := range kinds {
		names = append(names, k.name)
	}
	return names
}

// Certainty says how sure a suspicion is.
type Certainty string

// Certain: containerd has said that it does not know of it, or nothing that it does can
// bring it back. Likely: not everybody could be asked, or there is an innocent way to
// look like that.
const (
	Certain Certainty = "certain"
	Likely  Certainty = "likely"
)

// Suspect is one thing that belongs to nobody.
type Suspect struct {
	Kind      Kind          `json:"kind"`
	Sure      Certainty     `json:"sure"`
	Namespace string        `json:"namespace,omitempty"`
	ID        string        `json:"id,omitempty"`
	PID       int           `json:"pid,omitempty"` // as the auditor sees it
	Start     uint64        `json:"start,omitempty"`
	Path      string        `json:"path,omitempty"`
	Age       time.Duration `json:"ageNs,omitempty"`
	// Changed is when the file was changed last; its age is counted from then.
	Changed time.Time `json:"changed,omitzero"`
	// Missing is what it lacks, in words: "task", "bundle".
	Missing []string `json:"missing"`
	// Facts are what is known of it, as the catalogue has it: "task=none".
	Facts []string `json:"facts"`
	// With is what else is left of the same container.
	With []string `json:"with,omitempty"`
	// View and Version say of which containerd it is.
	View    string `json:"view,omitempty"`
	Version string `json:"version,omitempty"`
	// Bugs are those of the catalogue that fit this version, the best first.
	Bugs []string `json:"bugs"`
	// MayBe are those that leave the same, and nobody has looked whether this version has
	// them.
	MayBe []string `json:"mayBe,omitempty"`
	Do    string   `json:"do"`
}

// key names the suspect in both looks. A process is named by its start, too, and a file
// by when it was changed: an id that is used again and again is not always the same leak.
func (s Suspect) key() string {
	return fmt.Sprint(s.Kind, s.View, s.Namespace, s.ID, s.PID, s.Start, s.Path, s.Changed.UnixNano())
}

// order sorts suspects: by kind, the sure ones first, then by age.
func order(all []Suspect) {
	names := Kinds()
	slices.SortStableFunc(all, func(a, b Suspect) int {
		return cmp.Or(
			strings.Compare(a.View, b.View),
			cmp.Compare(slices.Index(names, a.Kind), slices.Index(names, b.Kind)),
			strings.Compare(string(a.Sure), string(b.Sure)), // "certain" before "likely"
			cmp.Compare(b.Age, a.Age),
			cmp.Compare(a.PID, b.PID),
			strings.Compare(a.Path+a.ID, b.Path+b.ID),
		)
	})
}

// fold makes one suspect of all that is left of one container: the first, and the others
// stand with it.
func fold(all []Suspect) []Suspect {
	order(all)
	heads := map[string]int{} // by view, and namespace/id or id alone
	var out []Suspect
	for _, s := range all {
		name := s.View + "\n" + s.ID
		if at, ok := heads[name]; ok && s.ID != "" && sameNamespace(out[at], s) {
			out[at].With = append(out[at].With, s.what())
			continue
		}
		if _, ok := heads[name]; !ok && s.ID != "" {
			heads[name] = len(out)
		}
		out = append(out, s)
	}
	return out
}

func sameNamespace(a, b Suspect) bool {
	return a.Namespace == b.Namespace || a.Namespace == "" || b.Namespace == ""
}

func (s Suspect) has(fact string) bool { return slices.Contains(s.Facts, fact) }

// what names the thing itself.
func (s Suspect) what() string {
	switch {
	case s.Path != "":
		return string(s.Kind) + " " + s.Path
	case s.PID != 0:
		return fmt.Sprintf("%s %d", s.Kind, s.PID)
	}
	return string(s.Kind)
}
