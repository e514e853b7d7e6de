package judge

import (
	"path"
	"slices"
	"strings"

	"github.com/shimquake/shimquake/fixtures/containerd/daemon"
	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/oracle/compare"
	"github.com/shimquake/shimquake/oracle/fact"
	"github.com/shimquake/shimquake/oracle/finding"
	"github.com/shimquake/shimquake/oracle/residue"
)

// rounds: a container that is removed leaves nothing in the pod that lives on. What is
// still there in the end is reported as left by the whole pod, and not once more. A
// containerd that was started meanwhile holds other things for what it has loaded, and
// one more a round later, when the shim that was loaded has something to tell it.
func (known excuses) rounds(h *harness.History) (found []finding.Finding, _ []harness.Problem) {
	if h.CRI == nil || h.CRI.Pod == nil {
		return nil, nil
	}
	inTheEnd, _ := known.leaks(h)
	before, earlier := h.CRI.Pod, h.CRI.Pod.Taken
	for n, r := range h.CRI.Rounds {
		if r.Look.Inventory == nil {
			f, _ := answersOf(h, &r.Look)
			return append(found, f...), nil
		}
		left := residue.Mark(known, compare.Leaks(*before, *r.Look.Inventory), conditions(h, r.Look.At))
		anew, first := downBetween(h, earlier, r.Look.At), n == 0 && downBetween(h, h.Began, earlier)
		before, earlier = r.Look.Inventory, before.Taken
		for _, f := range left {
			again := slices.ContainsFunc(inTheEnd, func(o finding.Finding) bool {
				return o.Class == f.Class && o.Subject == f.Subject
			})
			excused := f.Invariant == finding.Residue || lost(h) && f.Class == finding.ClassHandle || anew && linked(f) ||
				first && connectsLate(f) ||
				f.Class == finding.ClassTask && !h.Case.Faultless() && livesOn(h, f.Subject) ||
				!h.Case.Faultless() && hasEnded(h, f) || ofRotatedLog(h, f)
			if again || excused {
				continue
			}
			f.Facts[fact.In] = fact.InRunningPod
			found = append(found, f)
		}
	}
	return found, nil
}

// stays reports whether a container was made before the first round.
func stays(h *harness.History, i harness.Instance) bool {
	return !i.Begun.IsZero() && i.Begun.Before(h.CRI.Pod.Taken)
}

// livesOn reports whether a sandbox or a container lives through the rounds: its task is
// to be there, and missing only in a list that a fault has cut short.
func livesOn(h *harness.History, s finding.Subject) bool {
	_, ofPod := h.CRI.When("RunPodSandbox", s.ID)
	through := slices.ContainsFunc(h.Instances, func(i harness.Instance) bool { return i.ID == s.ID && stays(h, i) })
	return (ofPod || through) && s.Namespace == daemon.CRINamespace
}

// hasEnded reports whether what has grown is the status that CRI keeps of a container
// which lives through the rounds: a fault has ended it, and more is to be said of it.
func hasEnded(h *harness.History, f finding.Finding) bool {
	return f.Class == finding.ClassFile && f.Facts[fact.Size] == fact.Grown &&
		slices.ContainsFunc(h.Instances, func(i harness.Instance) bool {
			return stays(h, i) && i.ID != "" && strings.HasSuffix(f.Subject.Path, "/containers/"+i.ID+"/status")
		})
}

// ofRotatedLog reports whether a handle is one of a bystander's log: while that is
// rotated what has it open leads to its older name, and not a round later. What is left
// of it in the end is seen then.
func ofRotatedLog(h *harness.History, f finding.Finding) bool {
	return f.Class == finding.ClassHandle && slices.ContainsFunc(h.Bystanders, func(b harness.Bystander) bool {
		return len(b.Rotations) > 0 && strings.HasPrefix(path.Base(f.Facts[fact.Handle]), harness.BystanderPod+".")
	})
}

// connectsLate reports whether a finding is of the connection of a shim to a containerd
// that was started before the first round: it is made when the shim has something to
// tell, which it may not have had by then.
func connectsLate(f finding.Finding) bool {
	return linked(f) && f.Facts[fact.Kind] != fact.ADescriptor
}

// linked reports whether a finding is of what a containerd that was started opens anew: a
// handle of its own, and a shim's connection to it.
func linked(f finding.Finding) bool {
	kind := f.Facts[fact.Kind]
	return f.Class == finding.ClassHandle && (f.Facts[fact.Program] != "shim" || kind == fact.AConnection ||
		kind == fact.AGoroutine)
}
