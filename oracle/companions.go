package oracle

import (
	"slices"
	"strconv"
)

// ComesWith reports whether a finding goes without saying beside another: it is of the
// same container, or of the same pod, and is what that keeps; or it is the second use of
// the id that fails where something of that id is left. What is of no container known
// comes with nothing.
func (f Finding) ComesWith(o Finding) bool {
	together := f.Subject.same(o.Subject) || holdsPod(o) && f.Subject.samePod(o.Subject) || f.childOf(o)
	if o.Invariant != Leak || !together {
		return false
	}
	if f.Class == ClassHandle && f.Subject.PID != o.Subject.PID { // another shim's, which may live on
		return false
	}
	if f.Invariant == Liveness {
		return f.Facts[FactWhat] == IDReuse
	}
	return f.Invariant == Leak && slices.Contains(leaksWith(o.Class), f.Class)
}

// holdsPod reports whether a thing keeps what all containers of its pod have.
func holdsPod(o Finding) bool { return o.Class == ClassShim || o.Class == ClassSandbox }

// same reports whether two things are of one container.
func (s Subject) same(o Subject) bool {
	return s.ID != "" && s.ID == o.ID && (s.Namespace == o.Namespace || s.Namespace == "" || o.Namespace == "")
}

// childOf reports whether a process is a child of a shim: of its helpers no container is
// known.
func (f Finding) childOf(o Finding) bool {
	return f.Class == ClassProcess && f.Facts[FactParent] == ByShim &&
		f.Facts[FactParentPID] == strconv.Itoa(o.Subject.PID)
}

// samePod reports whether two things are of one pod.
func (s Subject) samePod(o Subject) bool { return s.Pod != "" && s.Pod == o.Pod }

// Companions are those of all that come with one of some, or with one that does.
func Companions(some, all []Finding) []Finding {
	with := slices.Clone(some)
	for grown := true; grown; {
		grown = false
		for _, f := range all {
			if slices.Contains(with, f) {
				continue
			}
			if slices.ContainsFunc(with, f.ComesWith) {
				with, grown = append(with, f), true
			}
		}
	}
	return with[len(some):]
}
