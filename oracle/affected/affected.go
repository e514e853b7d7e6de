// Package affected says which releases have a bug: a branch of containerd a line, with
// what was seen there.
package affected

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/Masterminds/semver/v3"
)

// Oldest is the oldest branch that anybody here looks at.
const Oldest = "1.6"

// Releases are the branches of containerd ("1.7", "2.4") of which something is known. A
// branch that is not named has the bug where the one before it has it at its end, so that
// a bug that nobody has fixed is known of tomorrow's releases, too, and has it not where
// that one fixed it. Of any other nothing is known, as of those before the first.
type Releases map[string]Branch

// Branch is what is known of one branch. Its releases up to Bad have the bug, beginning
// with Since or with Seen, and none from Fixed on. Without Fixed those after Bad have it,
// too.
type Branch struct {
	// Since is the first that has it, and those before it have it not: Held or Absent says
	// how that is known. Without Since and Seen it is the first of the branch.
	Since string `yaml:"since,omitempty"`
	// Seen is the first that was looked at, and has it. Of those before it nothing is known.
	Seen string `yaml:"seen,omitempty"`
	// Bad is the last one that is known to have it, where that is not Seen.
	Bad string `yaml:"bad,omitempty"`
	// Fixed is the first one after that without it.
	Fixed string `yaml:"fixed,omitempty"`
	// Held is a release without it that was looked at: of a branch that has it not, or from
	// before Since.
	Held string `yaml:"held,omitempty"`
	// Absent says why the bug cannot be there, or not before Since: the code is not.
	Absent string `yaml:"absent,omitempty"`
	// Unknown says why nothing is known of the branch: nobody has looked, or no case can say
	// it there.
	Unknown string `yaml:"unknown,omitempty"`
}

// State is what is known of a release.
type State int

// The states.
const (
	Unknown State = iota // it may have the bug: nobody has looked, or no case can say it
	Free                 // it has it not
	Bad                  // it has it
)

// Last is the last release of the branch that is known to have the bug, or "".
func (b Branch) Last() string { return cmp.Or(b.Bad, b.Seen) }

// Has reports whether any release of the branch is known to have the bug.
func (b Branch) Has() bool { return b.Last() != "" }

// Open reports whether the branch has it to its end, as far as is known.
func (b Branch) Open() bool { return b.Has() && b.Fixed == "" }

// Of is what is known of a release. A pre-release or a commit counts as its release,
// except beside a bound that is a pre-release itself. Of what is no version nothing is
// known.
func (r Releases) Of(release string) State {
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
func (r Releases) Applies(release string) bool { return r.Of(release) == Bad }

// MayApply reports whether a release is not known to be without the bug.
func (r Releases) MayApply(release string) bool { return r.Of(release) != Free }

// Unreached reports whether the branch of a release lacks the code, or no case is known
// to come there: one that misses its place is no news.
func (r Releases) Unreached(release string) bool {
	v, err := version(release)
	if err != nil {
		return false
	}
	b := r[branchOf(v)]
	return !b.Has() && (b.Absent != "" || b.Unknown != "")
}

func branchOf(v *semver.Version) string { return fmt.Sprintf("%d.%d", v.Major(), v.Minor()) }

// before is the newest named branch before one that is not named.
func (r Releases) before(name string) (found string, ok bool) {
	for _, b := range r.Branches() {
		if older(b, name) {
			found, ok = b, true
		}
	}
	return found, ok
}

// Branches are the names of all branches, the oldest first.
func (r Releases) Branches() []string {
	return slices.SortedFunc(maps.Keys(r), func(a, b string) int {
		return semver.MustParse(a).Compare(semver.MustParse(b))
	})
}

func older(a, b string) bool { return semver.MustParse(a).LessThan(semver.MustParse(b)) }

// LastBad is the last release of a branch that is known to have the bug, or "".
func (r Releases) LastBad(branch string) string { return r[branch].Last() }

// FirstFixed is the first release of a branch that does not have it any more, or "".
func (r Releases) FirstFixed(branch string) string { return r[branch].Fixed }

// Ends are the releases between which it came or went, the oldest first: the last that
// has it and the first without, of each branch that has fixed it; the last without and
// the first that has it; and the last that has it where nobody has fixed it.
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
		if b.Fixed != "" { // by a branch that never had it, too: those before it did
			all = append(all, last, b.Fixed)
		}
	}
	if r.Open() {
		all = append(all, last)
	}
	all = slices.DeleteFunc(all, func(release string) bool { return release == "" })
	slices.SortFunc(all, func(a, b string) int { return semver.MustParse(a).Compare(semver.MustParse(b)) })
	return slices.Compact(all)
}

// Open reports whether no fix is known on the newest branch that is named.
func (r Releases) Open() bool {
	all := r.Branches()
	return len(all) > 0 && r[all[len(all)-1]].Open()
}

// Constraint are those that are known to have it, as a range of semantic versions
// (Masterminds/semver).
func (r Releases) Constraint() string {
	var parts []string
	branches := r.Branches()
	for i, name := range branches {
		b := r[name]
		if !b.Has() {
			continue
		}
		from, until := cmp.Or(b.Since, b.Seen, name+".0"), b.Fixed
		if until == "" && i+1 < len(branches) {
			until = branches[i+1] + ".0"
		}
		part := ">= " + strings.TrimPrefix(from, "v")
		if until != "" {
			part += ", < " + strings.TrimPrefix(until, "v")
		}
		parts = append(parts, part)
	}
	if len(parts) == 0 {
		return "< 0.0.0"
	}
	return strings.Join(parts, " || ")
}

// String is for people: "1.6 to v1.6.23, 1.7 to v1.7.3, 2.4 from v2.4.0, not fixed".
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
		text += " (none before it was looked at)"
	}
	if b.Fixed != "" {
		text += ", fixed in " + b.Fixed
	}
	return name + ": " + text
}

// Check reports what cannot be, with the branch that it is about.
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
			return fmt.Errorf("%q is no release of it: expected v%s.N", release, name)
		}
		if _, err := semver.NewVersion(release); release != "" && err != nil {
			return fmt.Errorf("%q: %w", release, err)
		}
	}
	switch {
	case b == Branch{}:
		return fmt.Errorf("say what is known of it: seen, bad, fixed, held or absent; or why nothing is: unknown")
	case b.Unknown != "" && b != Branch{Unknown: b.Unknown}:
		return fmt.Errorf("unknown is for a branch of which nothing else is said")
	case b.Since != "":
		return b.checkSince()
	case b.Has() && (b.Held != "" || b.Absent != ""):
		return fmt.Errorf("%s is bad: held and absent are for branches that do not have the bug, "+
			"and for what came before since", b.Last())
	}
	return b.checkOrder()
}

// checkSince asks how it is known that releases before Since have it not: that nobody has
// looked at them is no such knowledge.
func (b Branch) checkSince() error {
	switch {
	case b.Bad == "":
		return fmt.Errorf("since %s, and no release that is bad", b.Since)
	case b.Seen != "":
		return fmt.Errorf("since %s or seen %s, not both", b.Since, b.Seen)
	case b.Held == "" && b.Absent == "":
		return fmt.Errorf("since %s: how is it known that those before it do not have it? held: one of them that was "+
			"looked at, or absent: why it cannot be there; where nobody has looked write seen: %[1]s", b.Since)
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

func after(a, b string) bool { return semver.MustParse(a).GreaterThan(semver.MustParse(b)) }
