package wording

import (
	"fmt"

	"github.com/shimquake/shimquake/oracle/fact"
	"github.com/shimquake/shimquake/oracle/finding"
)

func networkName(f finding.Finding) string {
	return fmt.Sprintf("network %s of pod %s", f.Facts[fact.Network], f.Subject.ID)
}

// networkWords say what is left of a pod's network.
func networkWords(f finding.Finding) string {
	words := "CNI's ADD was never followed by a DEL"
	if f.Facts[fact.Netns] == fact.There {
		return words + "; its namespace is still mounted on " + f.Subject.Path
	}
	return words + "; its namespace is gone"
}

// networkReasons say how CNI was called that may not be called so.
func networkReasons(fs fact.Facts) []string {
	switch {
	case fs[fact.Is] == fact.Repeated:
		return []string{"CNI's ADD was called again, with no DEL in between"}
	case fs[fact.Netns] == fact.Gone:
		return []string{"CNI's DEL was called when the pod's network namespace was gone, with what is to be undone in it"}
	}
	return []string{"CNI's DEL was called while the pod was to live, " + fs[fact.Apart] + " after it was asked to run"}
}
