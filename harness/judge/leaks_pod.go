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

// leftInPod returns the leaks of removed containers in their running pod. A leak that the
// final inventory still has is not among them, because left returns it. A restarted
// containerd has new handles for the objects that it loaded. It gets one more a round
// later, when a loaded shim sends an event.
func (known excuses) leftInPod(h *run) (found []finding.Finding) {
	if h.CRI == nil || h.CRI.Pod == nil {
		return nil
	}
	inTheEnd := known.left(h)
	before, earlier := h.CRI.Pod, h.CRI.Pod.Taken
	for n, r := range h.CRI.Rounds {
		if r.Inspection.Inventory == nil {
			f, _ := responds(h, &r.Inspection)
			return append(found, f...)
		}
		left := residue.Mark(known, compare.Leaks(*before, *r.Inspection.Inventory), conditions(h, r.Inspection.At))
		anew := tolerated(h, handlesSame, span{earlier, r.Inspection.At})
		first := n == 0 && tolerated(h, handlesSame, span{h.Began, earlier})
		before, earlier = r.Inspection.Inventory, before.Taken
		for _, f := range left {
			again := slices.ContainsFunc(inTheEnd, func(o finding.Finding) bool {
				return o.Class == f.Class && o.Subject == f.Subject
			})
			excused := f.Invariant == finding.Residue ||
				f.Class == finding.ClassHandle && tolerated(h, handlesClosed, span{}) ||
				anew && opensAnew(f) || first && connectsLate(f) ||
				tolerated(h, podUnchanged, span{}) &&
					(f.Class == finding.ClassTask && staysInPod(h, f.Subject) || ofEndedStatus(h, f)) ||
				ofRotatedLog(h, f)
			if again || excused {
				continue
			}
			f.Facts[fact.In] = fact.InRunningPod
			found = append(found, f)
		}
	}
	return found
}

// stays reports whether a container was created before the first round.
func stays(h *run, i harness.Instance) bool {
	return !i.Begun.IsZero() && i.Begun.Before(h.CRI.Pod.Taken)
}

// staysInPod reports whether a sandbox or a container runs through the rounds. Its task
// looks new if a fault had cut the earlier list short.
func staysInPod(h *run, s finding.Subject) bool {
	_, ofPod := h.CRI.DoneAt("RunPodSandbox", s.ID)
	through := slices.ContainsFunc(h.Instances, func(i harness.Instance) bool { return i.ID == s.ID && stays(h, i) })
	return (ofPod || through) && s.Namespace == daemon.CRINamespace
}

// ofEndedStatus reports whether a finding is about the status file of a container that
// runs through the rounds. The file grows when a fault ends the container.
func ofEndedStatus(h *run, f finding.Finding) bool {
	return f.Class == finding.ClassFile && f.Facts[fact.Size] == fact.Grown &&
		slices.ContainsFunc(h.Instances, func(i harness.Instance) bool {
			return stays(h, i) && i.ID != "" && strings.HasSuffix(f.Subject.Path, "/containers/"+i.ID+"/status")
		})
}

// ofRotatedLog reports whether a finding is about a handle of a bystander's log. During a
// rotation the handle has the log's older name, and a round later the new one.
func ofRotatedLog(h *run, f finding.Finding) bool {
	return f.Class == finding.ClassHandle && slices.ContainsFunc(h.Bystanders, func(b harness.Bystander) bool {
		return len(b.Rotations) > 0 && strings.HasPrefix(path.Base(f.Facts[fact.Handle]), harness.BystanderPod+".")
	})
}

// connectsLate reports whether a finding is about the connection of a shim to a restarted
// containerd. The shim connects when it has something to send.
func connectsLate(f finding.Finding) bool {
	return opensAnew(f) && f.Facts[fact.Kind] != fact.ADescriptor
}

// opensAnew reports whether a finding is about a handle that a restart of containerd
// opens again. The handle is containerd's own, or a shim's connection to it.
func opensAnew(f finding.Finding) bool {
	kind := f.Facts[fact.Kind]
	return f.Class == finding.ClassHandle && (f.Facts[fact.Program] != "shim" || kind == fact.AConnection ||
		kind == fact.AGoroutine)
}
