package catalogue

import (
	"slices"

	"github.com/shimquake/shimquake/oracle"
)

// ByChance is the id of the race that a busy machine loses anywhere and that explains all
// that a run of a release has found; "" where there is none.
func ByChance(known []Excuse, release string, found []oracle.Finding) string {
	for _, k := range known {
		if !k.Anywhere || !k.Applies(release) {
			continue
		}
		direct := slices.DeleteFunc(slices.Clone(found), func(f oracle.Finding) bool { return k.Says(f) < 0 })
		if len(direct) > 0 && len(direct)+len(oracle.Companions(direct, found)) == len(found) {
			return k.ID
		}
	}
	return ""
}

// Says is how many facts of a finding the excuse names; -1 where it does not match it.
func (e Excuse) Says(f oracle.Finding) int {
	says := -1
	for _, m := range e.Match {
		if m.Like(f) {
			says = max(says, len(m.Facts.All()))
		}
	}
	return says
}
