// Package affected says which releases have a bug: a branch of containerd a line, with
// what was seen there.
package affected

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/Masterminds/semver/v3"
)

// Releases are the branches of containerd ("1.7", "2.4") of which it is known whether
// they have a bug. A branch that is not named is as the one before it was at its end, so
// that a bug that nobody has fixed is known of tomorrow's releases, too; and one before
// the first has it not.
type Releases map[string]Branch

// Branch is what is known of one branch. Its releases up to Bad have the bug, beginning
// with Since, and none from Fixed on. Without Fixed those after Bad have it, too.
type Branch struct {
	// Since is the first that has it. Empty: the first of the branch.
	Since string `yaml:"since,omitempty"`
	// Bad is the last one that is known to have it. Empty: none has.
	Bad string `yaml:"bad,omitempty"`
	// Fixed is the first one after that without it.
	Fixed string `yaml:"fixed,omitempty"`
	// Held is a release of a branch without Bad that was looked at.
	Held string `yaml:"held,omitempty"`
	// Absent says why the bug cannot be there: the code is not.
	Absent string `yaml:"absent,omitempty"`
}

// Has reports whether any release of the branch has the bug.
func (b Branch) Has() bool { return b.Bad != "" }

// Open reports whether the branch has it to its end, as far as is known.
func (b Branch) Open() bool { return b.Bad != "" && b.Fixed == "" }

// Applies reports whether a release has the bug. A pre-release or a commit counts as its
// release; what is no version has none.
func (r Releases) Applies(release string) bool {
	v, err := version(release)
	if err != nil {
		return false
	}
	name := branchOf(v)
	b, ok := r[name]
	if !ok {
		before, ok := r.before(name)
		return ok && r[before].Open()
	}
	plain := semver.New(v.Major(), v.Minor(), v.Patch(), "", "")
	return b.Has() && (b.Since == "" || !plain.LessThan(semver.MustParse(b.Since))) &&
		(b.Fixed == "" || plain.LessThan(semver.MustParse(b.Fixed)))
}

// Absent reports whether the branch of a release is known not to have the code.
func (r Releases) Absent(release string) bool {
	v, err := version(release)
	return err == nil && r[branchOf(v)].Absent != ""
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
func (r Releases) LastBad(branch string) string { return r[branch].Bad }

// FirstFixed is the first release of a branch that does not have it any more, or "".
func (r Releases) FirstFixed(branch string) string { return r[branch].Fixed }

// Open reports whether no fix is known on the newest branch that is named.
func (r Releases) Open() bool {
	all := r.Branches()
	return len(all) > 0 && r[all[len(all)-1]].Open()
}

// Constraint is the same as a range of semantic versions (Masterminds/semver).
func (r Releases) Constraint() string {
	var parts []string
	branches := r.Branches()
	for i, name := range branches {
		b := r[name]
		if !b.Has() {
			continue
		}
		from, until := name+".0", b.Fixed
		if b.Since != "" {
			from = b.Since
		}
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
	since := ""
	if b.Since != "" && b.Since != b.Bad {
		since = b.Since + ".."
	}
	fix := ""
	if b.Fixed != "" {
		fix = ", fixed in " + b.Fixed
	}
	return name + ": " + since + b.Bad + fix
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
	for _, release := range []string{b.Since, b.Bad, b.Fixed, b.Held} {
		if release != "" && !strings.HasPrefix(release, "v"+name+".") {
			return fmt.Errorf("%q is no release of it: expected v%s.N", release, name)
		}
		if _, err := semver.NewVersion(release); release != "" && err != nil {
			return fmt.Errorf("%q: %w", release, err)
		}
	}
	switch {
	case b == Branch{}:
		return fmt.Errorf("say what is known of it: bad, fixed, held or absent")
	case b.Bad == "" && b.Since != "":
		return fmt.Errorf("since %s, and no release that is bad", b.Since)
	case b.Bad != "" && (b.Held != "" || b.Absent != ""):
		return fmt.Errorf("%s is bad: held and absent are for branches that do not have the bug", b.Bad)
	case b.Bad != "" && b.Since != "" && after(b.Since, b.Bad), b.Bad != "" && b.Fixed != "" && !after(b.Fixed, b.Bad):
		return fmt.Errorf("expected since %s <= bad %s < fixed %s", b.Since, b.Bad, b.Fixed)
	}
	return nil
}

func after(a, b string) bool { return semver.MustParse(a).GreaterThan(semver.MustParse(b)) }
