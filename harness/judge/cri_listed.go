package judge

import (
	"slices"

	"github.com/shimquake/shimquake/fixtures/containerd/daemon"
	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/oracle/fact"
	"github.com/shimquake/shimquake/oracle/finding"
	"github.com/shimquake/shimquake/oracle/inventory"
)

// listedObjects compares CRI's lists with containerd's objects. A client never removes an
// object that CRI does not list, and cannot remove an object that only CRI has.
func listedObjects(h *run) (found []finding.Finding, problems []harness.Problem) {
	if looked(h) {
		found, problems = compareLists(h.CRI.Listed, h.After.Inventory, h.Before, "")
	}
	for _, r := range h.CRI.Rounds {
		f, p := compareLists(r.Listed, r.Inspection.Inventory, h.Before, fact.InRunningPod)
		found, problems = append(found, f...), append(problems, p...)
	}
	return uniqueCauses(found), problems
}

// compareLists compares what CRI lists with what containerd has and did not have before.
func compareLists(l *harness.CRIListed, has, had *inventory.Inventory, in string) ([]finding.Finding,
	[]harness.Problem) {
	switch {
	case l == nil || has == nil || has.Daemon == nil || had == nil || had.Daemon == nil:
		return nil, nil
	case l.Err != nil && refused(l.Err):
		return []finding.Finding{unalive(finding.ClassDaemon, l.Err.Facts(fact.Listing))}, nil
	case l.Err != nil:
		return nil, problem(harness.ByLook, l.Err.Text)
	}
	var found []finding.Finding
	add := func(class finding.Class, id, listed string) {
		found = append(found, finding.Finding{
			Invariant: finding.Leak, Class: class, Subject: finding.Subject{Namespace: daemon.CRINamespace, ID: id},
			Facts: fact.Facts{fact.Listed: listed, fact.In: in},
		})
	}
	known := slices.Concat(has.Daemon.Containers, has.Daemon.Sandboxes)
	there := func(id string) bool {
		return slices.Contains(known, inventory.Ref{Namespace: daemon.CRINamespace, ID: id})
	}
	for _, id := range l.Sandboxes {
		if !there(id) {
			add(finding.ClassSandbox, id, fact.OnlyByCRI)
		}
	}
	for _, id := range l.Containers {
		if !there(id) {
			add(finding.ClassContainer, id, fact.OnlyByCRI)
		}
	}
	if in == "" { // at the end rule leaks reports what is left, listed or not
		return found, nil
	}
	for _, r := range has.Daemon.Containers {
		if r.Namespace == daemon.CRINamespace && !slices.Contains(had.Daemon.Containers, r) &&
			!slices.Contains(l.Sandboxes, r.ID) && !slices.Contains(l.Containers, r.ID) {
			add(finding.ClassContainer, r.ID, fact.NotByCRI)
		}
	}
	return found, nil
}
