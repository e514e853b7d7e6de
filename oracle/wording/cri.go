package wording

import (
	"fmt"
	"strings"

	"github.com/shimquake/shimquake/oracle/fact"
	"github.com/shimquake/shimquake/oracle/finding"
)

// statusReasons say what CRI says of a field, and what is so.
func statusReasons(f finding.Finding) []string {
	fs := f.Facts
	reported := fmt.Sprintf("CRI says %s", fs[fact.Reported])
	if fs[fact.Reported] == "" {
		reported = "CRI says nothing"
	}
	if fs[fact.What] == fact.Listing {
		reported = strings.Replace(reported, "CRI says", "its list says", 1)
	}
	switch isTime := strings.HasSuffix(fs[fact.Field], "-at"); {
	case fs[fact.Is] == fact.Changed:
		return []string{reported, "it had said " + fs[fact.True] + " before"}
	case fs[fact.Is] == fact.NotSet && !isTime:
		return []string{"CRI cannot say it: " + fs[fact.Reported], fs[fact.True]}
	case fs[fact.Is] == fact.NotSet:
		return []string{"CRI has no such time, and " + fs[fact.True]}
	case fs[fact.Is] == fact.TooEarly && isTime:
		return []string{reported, "that is before " + fs[fact.True]}
	case fs[fact.Is] == fact.TooLate && isTime:
		return []string{reported, "that is after " + fs[fact.True]}
	case fs[fact.Is] == fact.Other:
		return []string{reported, "it should be " + fs[fact.True]}
	}
	return []string{reported, fs[fact.True]}
}

// listedWords say who alone knows of what was to be removed.
func listedWords(fs fact.Facts) string {
	if fs[fact.Listed] == fact.OnlyByCRI {
		return "CRI lists it, and containerd has nothing of that id: no client of CRI will get rid of it"
	}
	return "containerd still has it, and CRI does not list it: no client of CRI will remove it"
}

// podWords say where something was left.
func podWords(fs fact.Facts) []string {
	if fs[fact.In] == fact.InLivingPod {
		return []string{"left when its container was removed, in a pod that lives on"}
	}
	if fs[fact.In] == fact.InLivingContainer {
		return []string{"left by an exec that has ended, in a container that lives on"}
	}
	return nil
}
