package repro

import (
	"strings"

	"golang.org/x/mod/semver"

	"github.com/shimquake/shimquake/oracle/affected"
)

// firstFixed returns the first release without a bug, of the branch of a release or of a
// later branch. It returns "" if none is known.
func firstFixed(rs affected.Releases, release string) string {
	own := semver.MajorMinor(release)
	if own == "" {
		return ""
	}
	for _, name := range rs.Branches() {
		if semver.Compare("v"+name, own) < 0 {
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

// branch returns the branch of a release ("1.7"), or "" if the text is no release.
func branch(release string) string { return strings.TrimPrefix(semver.MajorMinor(release), "v") }
