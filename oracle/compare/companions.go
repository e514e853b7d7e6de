package compare

import (
	"slices"
	"strconv"

	"github.com/shimquake/shimquake/oracle/fact"
	"github.com/shimquake/shimquake/oracle/finding"
)

// ComesWith reports whether a finding goes without saying beside another: it is of the
// same container, or of the same pod, and is what that keeps; or it is the second use of
// the id that fails where something of that id is left. What is of no container known
// comes with nothing.
func ComesWith(f finding.Finding, o finding.Finding) bool {
	together := same(f.Subject, o.Subject) || holdsPod(o) && samePod(f.Subject, o.Subject) || childOf(f, o)
	if o.Invariant != finding.Leak || !together {
		return false
	}
	if f.Class == finding.ClassHandle && f.Subject.PID != o.Subject.PID { // another shim's, which may live on
		return false
	}
	if f.Invariant == finding.Liveness {
		return f.Facts[fact.What] == fact.IDReuse
	}
	return f.Invariant == finding.Leak && slices.Contains(leaksWith(o.Class), f.Class)
}

// holdsPod reports whether a thing keeps what all containers of its pod have.
func holdsPod(o finding.Finding) bool {
	return o.Class == finding.ClassShim || o.Class == finding.ClassSandbox
}

// same reports whether two things are of one container.
func same(s finding.Subject, o finding.Subject) bool {
	return s.ID != "" && s.ID == o.ID && (s.Namespace == o.Namespace || s.Namespace == "" || o.Namespace == "")
}

// childOf reports whether a process is a child of a shim: of its helpers no container is
// known.
func childOf(f finding.Finding, o finding.Finding) bool {
	return f.Class == finding.ClassProcess && f.Facts[fact.Parent] == fact.ByShim &&
		f.Facts[fact.ParentPID] == strconv.Itoa(o.Subject.PID)
}

// samePod reports whether two things are of one pod.
func samePod(s finding.Subject, o finding.Subject) bool { return s.Pod != "" && s.Pod == o.Pod }

// Companions are those of all that come with one of some, or with one that does.
func Companions(some, all []finding.Finding) []finding.Finding {
	with := slices.Clone(some)
	for grown := true; grown; {
		grown = false
		for _, f := range all {
			if slices.Contains(with, f) {
				continue
			}
			if slices.ContainsFunc(with, func(o finding.Finding) bool { return ComesWith(f, o) }) {
				with, grown = append(with, f), true
			}
		}
	}
	return with[len(some):]
}
