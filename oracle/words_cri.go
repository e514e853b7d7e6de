package oracle

import (
	"fmt"
	"strings"
)

// statusReasons say what CRI says of a field, and what is so.
func (f Finding) statusReasons() []string {
	fs := f.Facts
	reported := fmt.Sprintf("CRI says %s", fs[FactReported])
	if fs[FactReported] == "" {
		reported = "CRI says nothing"
	}
	if fs[FactWhat] == Listing {
		reported = strings.Replace(reported, "CRI says", "its list says", 1)
	}
	if fs[FactWhat] == Stats {
		reported = strings.Replace(reported, "CRI says", "its stats say", 1)
	}
	switch isTime := strings.HasSuffix(fs[FactField], "-at"); {
	case fs[FactIs] == Changed:
		return []string{reported, "it had said " + fs[FactTrue] + " before"}
	case fs[FactIs] == NotSet && !isTime:
		return []string{"CRI cannot say it: " + fs[FactReported], fs[FactTrue]}
	case fs[FactIs] == NotSet:
		return []string{"CRI has no such time, and " + fs[FactTrue]}
	case fs[FactIs] == TooEarly && isTime:
		return []string{reported, "that is before " + fs[FactTrue]}
	case fs[FactIs] == TooLate && isTime:
		return []string{reported, "that is after " + fs[FactTrue]}
	case fs[FactIs] == Other:
		return []string{reported, "it should be " + fs[FactTrue]}
	}
	return []string{reported, fs[FactTrue]}
}

// listedWords say who alone knows of what was to be removed.
func listedWords(fs Facts) string {
	if fs[FactListed] == OnlyByCRI {
		return "CRI lists it, and containerd has nothing of that id: no client of CRI will get rid of it"
	}
	return "containerd still has it, and CRI does not list it: no client of CRI will remove it"
}

// podWords say where something was left.
func podWords(fs Facts) []string {
	if fs[FactIn] == InLivingPod {
		return []string{"left when its container was removed, in a pod that lives on"}
	}
	if fs[FactIn] == InLivingContainer {
		return []string{"left by an exec that has ended, in a container that lives on"}
	}
	return nil
}
