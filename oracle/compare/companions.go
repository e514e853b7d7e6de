package compare

import (
	"slices"
	"strconv"

	"github.com/shimquake/shimquake/oracle/fact"
	"github.com/shimquake/shimquake/oracle/finding"
)

// FollowsFrom reports whether a finding f follows from another finding o. Either both are
// about the same container or pod, and o's object keeps f's object in existence. Or f
// says that an id cannot be used again, and o is a leak of that id. A finding without a
// known container follows from no other.
func FollowsFrom(f finding.Finding, o finding.Finding) bool {
	together := same(f.Subject, o.Subject) || holdsPod(o) && samePod(f.Subject, o.Subject) || childOf(f, o)
	if o.Invariant != finding.Leak || !together {
		return false
	}
	if f.Class == finding.ClassHandle && f.Subject.PID != o.Subject.PID { // of another shim, which may run
		return false
	}
	if f.Invariant == finding.Liveness {
		return f.Facts[fact.What] == fact.IDReuse
	}
	return f.Invariant == finding.Leak && slices.Contains(o.Class.Kind().With, f.Class)
}

// holdsPod reports whether a finding is about an object that keeps the common objects of
// its pod.
func holdsPod(o finding.Finding) bool {
	return o.Class == finding.ClassShim || o.Class == finding.ClassSandbox
}

// same reports whether two objects belong to one container.
func same(s finding.Subject, o finding.Subject) bool {
	return s.ID != "" && s.ID == o.ID && (s.Namespace == o.Namespace || s.Namespace == "" || o.Namespace == "")
}

// childOf reports whether a process is a child of a shim. The container of a shim's
// helper process is not known otherwise.
func childOf(f finding.Finding, o finding.Finding) bool {
	return f.Class == finding.ClassProcess && f.Facts[fact.Parent] == fact.ByShim &&
		f.Facts[fact.ParentPID] == strconv.Itoa(o.Subject.PID)
}

// samePod reports whether two objects belong to one pod.
func samePod(s finding.Subject, o finding.Subject) bool { return s.Pod != "" && s.Pod == o.Pod }

// Companions returns all findings that follow from some findings, directly or through
// other findings.
func Companions(some, all []finding.Finding) []finding.Finding {
	with := slices.Clone(some)
	for grown := true; grown; {
		grown = false
		for _, f := range all {
			if slices.Contains(with, f) {
				continue
			}
			if slices.ContainsFunc(with, func(o finding.Finding) bool { return FollowsFrom(f, o) }) {
				with, grown = append(with, f), true
			}
		}
	}
	return with[len(some):]
}
