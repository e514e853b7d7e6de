package wording

import (
	"fmt"
	"strings"

	"github.com/shimquake/shimquake/oracle/fact"
	"github.com/shimquake/shimquake/oracle/finding"
)

// statusReasons returns CRI's value of a field, and the right value.
func statusReasons(f finding.Finding) []string {
	fs := f.Facts
	reported := fmt.Sprintf("CRI reports %s", fs[fact.Reported])
	if fs[fact.Reported] == "" {
		reported = "CRI reports nothing"
	}
	if fs[fact.What] == fact.Listing {
		reported = strings.Replace(reported, "CRI reports", "its list reports", 1)
	}
	switch isTime := strings.HasSuffix(fs[fact.Field], "-at"); {
	case fs[fact.Is] == fact.Changed:
		return []string{reported, "it had reported " + fs[fact.True] + " before"}
	case fs[fact.Is] == fact.NotSet && !isTime:
		return []string{"CRI cannot report it: " + fs[fact.Reported], fs[fact.True]}
	case fs[fact.Is] == fact.NotSet:
		return []string{"CRI has no such time, but " + fs[fact.True]}
	case fs[fact.Is] == fact.TooEarly && isTime:
		return []string{reported, "that is before " + fs[fact.True]}
	case fs[fact.Is] == fact.TooLate && isTime:
		return []string{reported, "that is after " + fs[fact.True]}
	case fs[fact.Is] == fact.Other:
		return []string{reported, "it should be " + fs[fact.True]}
	}
	return []string{reported, fs[fact.True]}
}

// listedWords says which of CRI and containerd has the object.
func listedWords(fs fact.Facts) string {
	if fs[fact.Listed] == fact.OnlyByCRI {
		return "CRI lists it, but containerd has nothing with that id: no client of CRI can remove it"
	}
	return "containerd still has it, but CRI does not list it: no client of CRI will remove it"
}

// podWords says in which running pod or container the leftover is.
func podWords(fs fact.Facts) []string {
	if fs[fact.In] == fact.InRunningPod {
		return []string{"left by a removed container in a pod that still runs"}
	}
	if fs[fact.In] == fact.InRunningContainer {
		return []string{"left by an exec that has ended, in a container that still runs"}
	}
	return nil
}
