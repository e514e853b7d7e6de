// Package affected tells which releases have a bug, with a line for each branch of
// containerd.
package affected

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/Masterminds/semver/v3"
)

// Oldest is the oldest branch that the project considers.
const Oldest = "1.6"

// Releases has what is known about each branch of containerd ("1.7", "2.4"). A branch
// without an entry has the bug if the last release of the branch before it has it. So a
// future release has each bug that is not fixed. Branches before the first entry are
// unknown.
type Releases map[string]Branch

// Branch has what is known about one branch. Its releases from Since or Seen up to Bad
// have the bug, and its releases from Fixed on do not. Without Fixed, the releases after
// Bad have the bug, too.
type Branch struct {
	// Since is the first release with the bug. Held or Absent is the evidence that
	// earlier releases do not have it. Without Since and Seen, the first release of the
	// branch has the bug.
	Since string `yaml:"since,omitempty"`
	// Seen is the first tested release, which has the bug. Earlier releases are unknown.
	Seen string `yaml:"seen,omitempty"`
	// Bad is the last release that is known to have the bug, unless that is Seen.
	Bad string `yaml:"bad,omitempty"`
	// Fixed is the first later release without the bug.
	Fixed string `yaml:"fixed,omitempty"`
	// Held is a tested release without the bug. It is before Since, or in a branch
	// without the bug.
	Held string `yaml:"held,omitempty"`
	// Absent is why the bug cannot exist in the branch, or before Since: the code does
	// not exist there.
	Absent string `yaml:"absent,omitempty"`
	// Unknown is why the branch is unknown: no release is tested, or no case can show the
	// bug there.
	Unknown string `yaml:"unknown,omitempty"`
}

// State is the knowledge about a release.
type State int

// The states.
const (
	Unknown State = iota // it is unknown whether the release has the bug.
	Free                 // the release does not have the bug.
	Bad                  // the release has the bug.
)

// Last returns the last release of the branch that is known to have the bug, or "".
func (b Branch) Last() string { return cmp.Or(b.Bad, b.Seen) }

// Has reports whether any release of the branch is known to have the bug.
func (b Branch) Has() bool { return b.Last() != "" }

// Open reports whether the branch has the bug, and no known fix.
func (b Branch) Open() bool { return b.Has() && b.Fixed == "" }

// StateOf returns the state of a release. A pre-release or a commit counts as its
// release, except in a comparison with a bound that is a pre-release itself. The state
// of a string that is not a version is Unknown.
func (r Releases) StateOf(release string) State {
	v, err := version(release)
	if err != nil {
		return Unknown
	}
	name := branchOf(v)
	if b, ok := r[name]; ok {
		return b.of(v)
	}
	before, ok := r.before(name)
	switch {
	case ok && r[before].Open():
		return Bad
	case ok && r[before].Fixed != "":
		return Free
	}
	return Unknown
}

func (b Branch) of(v *semver.Version) State {
	counts := semver.New(v.Major(), v.Minor(), v.Patch(), "", "")
	before := func(release string) bool {
		if release == "" {
			return false
		}
		bound := semver.MustParse(release)
		if bound.Prerelease() != "" {
			return v.LessThan(bound)
		}
		return counts.LessThan(bound)
	}
	switch {
	case b.Unknown != "", before(b.Seen):
		return Unknown
	case !b.Has(), before(b.Since), b.Fixed != "" && !before(b.Fixed):
		return Free
	}
	return Bad
}

// Applies reports whether a release is known to have the bug.
func (r Releases) Applies(release string) bool { return r.StateOf(release) == Bad }

// MayApply reports whether a release may have the bug.
func (r Releases) MayApply(release string) bool { return r.StateOf(release) != Free }

// Unreached reports whether the branch of a release does not have the code of the bug, or
// no known case reaches that code. A fault of the bug's case need not fire there.
func (r Releases) Unreached(release string) bool {
	b := r[BranchOf(release)]
	return !b.Has() && (b.Absent != "" || b.Unknown != "")
}

// BranchOf returns the branch of a release ("1.7"), or "" if the text is no release.
func BranchOf(release string) string {
	v, err := version(release)
	if err != nil {
		return ""
	}
	return branchOf(v)
}

func branchOf(v *semver.Version) string { return fmt.Sprintf("%d.%d", v.Major(), v.Minor()) }

// before returns the newest branch with an entry before a branch without one.
func (r Releases) before(name string) (found string, ok bool) {
	for _, b := range r.Branches() {
		if after(name, b) {
			found, ok = b, true
		}
	}
	return found, ok
}

// Branches returns the names of all branches, the oldest first.
func (r Releases) Branches() []string {
	return slices.SortedFunc(maps.Keys(r), compare)
}

// Ends returns the releases between which the bug appeared or was fixed, the oldest
// first. For a fix, these are the last release with the bug and the first one without it.
// For an appearance, they are the last release without the bug and the first one with it.
// If there is no fix, the last release with the bug is at the end.
func (r Releases) Ends() (all []string) {
	last := ""
	for _, name := range r.Branches() {
		b := r[name]
		if b.Since != "" {
			all = append(all, b.Held, b.Since)
		}
		if b.Has() {
			last = b.Last()
		}
		if b.Fixed != "" { // also for a branch that never had the bug, after branches with it
			all = append(all, last, b.Fixed)
		}
	}
	if r.Open() {
		all = append(all, last)
	}
	all = slices.DeleteFunc(all, func(release string) bool { return release == "" })
	slices.SortFunc(all, compare)
	return slices.Compact(all)
}

// Open reports whether the newest branch with an entry has the bug, and no known fix.
func (r Releases) Open() bool {
	all := r.Branches()
	return len(all) > 0 && r[all[len(all)-1]].Open()
}

// FirstFixed returns the first release without the bug, of the branch of a release or of
// a later branch. It returns "" if none is known.
func (r Releases) FirstFixed(release string) string {
	own := BranchOf(release)
	for _, name := range r.Branches() {
		b := r[name]
		switch {
		case own == "" || after(own, name):
		case b.Fixed != "":
			return b.Fixed
		case !b.Has() && b.Held != "":
			return b.Held
		}
	}
	return ""
}

// String formats the releases for a person: "1.6 to v1.6.23, 1.7 to v1.7.3, 2.4 from
// v2.4.0, not fixed".
func (r Releases) String() string {
	var parts []string
	for _, name := range r.Branches() {
		if b := r[name]; b.Has() {
			parts = append(parts, b.text(name))
		}
	}
	if len(parts) == 0 {
		return "none"
	}
	return strings.Join(parts, "; ")
}

func (b Branch) text(name string) string {
	text := b.Last()
	if first := cmp.Or(b.Since, b.Seen); first != "" && first != text {
		text = first + ".." + text
	}
	if b.Seen != "" {
		text += " (no earlier one was tested)"
	}
	if b.Fixed != "" {
		text += ", fixed in " + b.Fixed
	}
	return name + ": " + text
}

// Check returns an error for each branch with a contradiction.
func (r Releases) Check() error {
	if len(r) == 0 {
		return fmt.Errorf(`releases: at least one branch is needed, such as "2.3": {bad: v2.3.7}`)
	}
	for _, name := range slices.Sorted(maps.Keys(r)) {
		if err := r[name].check(name); err != nil {
			return fmt.Errorf("releases: branch %q: %w", name, err)
		}
	}
	return nil
}

func (b Branch) check(name string) error {
	if v, err := semver.NewVersion(name); err != nil || branchOf(v) != name {
		return fmt.Errorf("expected a branch such as \"2.3\"")
	}
	for _, release := range []string{b.Since, b.Seen, b.Bad, b.Fixed, b.Held} {
		if release != "" && !strings.HasPrefix(release, "v"+name+".") {
			return fmt.Errorf("%q is not a release of this branch: expected v%s.N", release, name)
		}
		if _, err := semver.NewVersion(release); release != "" && err != nil {
			return fmt.Errorf("%q: %w", release, err)
		}
	}
	switch {
	case b == Branch{}:
		return fmt.Errorf("expected one of seen, bad, fixed, held and absent, or unknown with the reason")
	case b.Unknown != "" && b != Branch{Unknown: b.Unknown}:
		return fmt.Errorf("a branch with unknown can have no other key")
	case b.Since != "":
		return b.checkSince()
	case b.Has() && (b.Held != "" || b.Absent != ""):
		return fmt.Errorf("%s is bad: held and absent are for branches that do not have the bug, "+
			"and for releases before since", b.Last())
	}
	return b.checkOrder()
}

// checkSince returns an error unless Held or Absent shows that releases before Since do
// not have the bug: an untested release shows nothing.
func (b Branch) checkSince() error {
	switch {
	case b.Bad == "":
		return fmt.Errorf("since %s: add bad, the last release with the bug", b.Since)
	case b.Seen != "":
		return fmt.Errorf("remove since %s or seen %s: a branch cannot have both", b.Since, b.Seen)
	case b.Held == "" && b.Absent == "":
		return fmt.Errorf("since %s needs evidence that earlier releases do not have the bug: add held, one of them that "+
			"was tested, or absent, why the bug cannot exist there. If none was tested, write seen: %[1]s", b.Since)
	case b.Held != "" && !after(b.Since, b.Held):
		return fmt.Errorf("expected held %s < since %s", b.Held, b.Since)
	}
	return b.checkOrder()
}

func (b Branch) checkOrder() error {
	first := cmp.Or(b.Since, b.Seen)
	if b.Has() && (first != "" && after(first, b.Last()) || b.Fixed != "" && !after(b.Fixed, b.Last())) {
		return fmt.Errorf("expected since or seen %s <= bad %s < fixed %s", first, b.Last(), b.Fixed)
	}
	return nil
}

func compare(a, b string) int { return semver.MustParse(a).Compare(semver.MustParse(b)) }

func after(a, b string) bool { return compare(a, b) > 0 }
