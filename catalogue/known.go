package catalogue

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/oracle/compare"
	"github.com/shimquake/shimquake/oracle/finding"
	"github.com/shimquake/shimquake/oracle/wording"
)

// Known returns the bugs that the case names, and that a containerd of this version has
// or may have. It omits ids that this build does not know, because a kept history can be
// from another build.
func Known(c harness.Case, version string) (all []Bug) {
	for _, b := range known() {
		if slices.Contains(c.Bugs, b.ID) && b.MayApply(version) {
			all = append(all, b)
		}
	}
	return all
}

// CompareWithKnown compares the verdict with the bugs that its case names, and returns
// the difference as an error. If the containerd has one of the bugs, the run must show
// one. A race need not show, nor a bug that the containerd perhaps has. Each finding must
// belong to a bug.
func CompareWithKnown(v harness.Verdict) error {
	bugs := Known(v.Case, v.Version)
	must := slices.ContainsFunc(bugs, func(b Bug) bool { return b.Kind != Race && b.Applies(v.Version) })
	switch {
	case v.Outcome == harness.Held && !must:
		return nil
	case len(bugs) == 0:
		return errors.New(v.String())
	case v.Outcome != harness.Violated:
		return fmt.Errorf("%s is known to have a bug that this case shows (%s), but the verdict is %s: check the releases "+
			"of the bug, or the key bugs of the case\n%s", v.Version, IDs(bugs), v.Outcome, v)
	}
	if lacks, other := Differences(bugs, v.Violations()); len(lacks)+len(other) > 0 {
		return fmt.Errorf("%s violates this case in another way than known (%s): missing [%s], unexpected [%s]\n%s",
			v.Version, IDs(bugs), strings.Join(lacks, "; "), strings.Join(other, "; "), v)
	}
	return nil
}

// IDs returns the ids of the bugs, for a person.
func IDs(bugs []Bug) string {
	var all []string
	for _, b := range bugs {
		all = append(all, b.ID)
	}
	return strings.Join(all, ", ")
}

// Differences compares the findings of a run with bugs, of which the run must show one.
// It returns the findings that the run lacks, and its findings of no known bug. The
// consequences of a leaked shim belong to its bug (compare.Companions).
func Differences(bugs []Bug, found []finding.Finding) (lacks, other []string) {
	var expected []finding.Match
	shown := false
	for _, b := range bugs {
		expected = append(expected, slices.Concat(b.Left, b.May)...)
		var missing []string
		for _, m := range b.Left {
			if !slices.ContainsFunc(found, m.Matches) {
				missing = append(missing, m.String())
			}
		}
		shown = shown || len(missing) == 0 || b.OneOf && len(missing) < len(b.Left)
		lacks = append(lacks, missing...)
	}
	if shown {
		lacks = nil
	}
	var belong []finding.Finding
	for _, f := range found {
		if finding.AnyMatches(expected, f) {
			belong = append(belong, f)
		}
	}
	belong = append(belong, compare.Companions(belong, found)...)
	for _, f := range found {
		if !slices.Contains(belong, f) {
			other = append(other, wording.Of(f))
		}
	}
	return lacks, other
}
