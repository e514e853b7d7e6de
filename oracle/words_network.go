package oracle

import "fmt"

func networkName(f Finding) string {
	return fmt.Sprintf("network %s of pod %s", f.Facts[FactNetwork], f.Subject.ID)
}

// networkWords say what is left of a pod's network.
func networkWords(f Finding) string {
	words := "CNI's ADD was never followed by a DEL"
	if f.Facts[FactNetns] == There {
		return words + "; its namespace is still mounted on " + f.Subject.Path
	}
	return words + "; its namespace is gone"
}

// networkReasons say how CNI was called that may not be called so.
func networkReasons(fs Facts) []string {
	switch {
	case fs[FactIs] == Repeated:
		return []string{"CNI's ADD was called again, with no DEL in between"}
	case fs[FactNetns] == Gone:
		return []string{"CNI's DEL was called when the pod's network namespace was gone, with what is to be undone in it"}
	}
	return []string{"CNI's DEL was called while the pod was to live, " + fs[FactApart] + " after it was asked to run"}
}
