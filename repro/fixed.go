package repro

import (
	"fmt"

	"github.com/Masterminds/semver/v3"

	"github.com/shimquake/shimquake/oracle/affected"
)

// firstFixed is the first release without a bug for who runs another: of its own branch,
// or else of the next that has one; "" where none is known.
func firstFixed(rs affected.Releases, release string) string {
	own, err := semver.NewVersion(branch(release))
	if err != nil {
		return ""
	}
	for _, name := range rs.Branches() {
		if v, err := semver.NewVersion(name); err != nil || v.LessThan(own) {
			continue
		}
		b := rs[name]
		switch {
		case b.Fixed != "":
			return b.Fixed
		case !b.Has() && b.Held != "":
			return b.Held
		}
	}
	return ""
}

// branch is that of a release: "1.7"; "" where it is none.
func branch(release string) string {
	v, err := semver.NewVersion(release)
	if err != nil {
		return ""
	}
	return fmt.Sprintf("%d.%d", v.Major(), v.Minor())
}
