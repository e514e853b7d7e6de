package wording

import (
	"fmt"

	"github.com/shimquake/shimquake/oracle/fact"
	"github.com/shimquake/shimquake/oracle/finding"
)

func networkName(f finding.Finding) string {
	return fmt.Sprintf("network %s of pod %s", f.Facts[fact.Network], f.Subject.ID)
}

// networkWords describe a leaked network of a pod.
func networkWords(f finding.Finding) string {
	words := "no DEL followed CNI's ADD"
	if f.Facts[fact.Netns] == fact.There {
		return words + "; its network namespace is still mounted on " + f.Subject.Path
	}
	return words + "; its network namespace is gone"
}

// networkReasons describe a wrong call of the CNI plugin.
func networkReasons(f finding.Finding) string {
	fs := f.Facts
	switch {
	case fs[fact.Is] == fact.Repeated:
		return "CNI's ADD was called twice without a DEL in between"
	case fs[fact.Netns] == fact.Gone:
		return "CNI's DEL was called after the pod's network namespace had gone, so that it could not undo its ADD"
	}
	return "CNI's DEL was called for a pod that should run, " + fs[fact.Apart] + " after it was asked to run"
}
