package judge

import (
	"slices"

	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/oracle"
)

// namespaces: who lists the tasks of a namespace is not shown another's. A task that has
// no container in its own is a leak, and reported as such, unless another has one of that
// id.
func namespaces(h *harness.History) (found []oracle.Finding, _ []harness.Problem) {
	for _, l := range lists(h) {
		for _, t := range l.Tasks {
			home := slices.IndexFunc(l.Containers, func(r oracle.Ref) bool { return r.ID == t.ID })
			if home < 0 || slices.Contains(l.Containers, oracle.Ref{Namespace: t.Namespace, ID: t.ID}) {
				continue
			}
			found = append(found, oracle.Finding{
				Invariant: oracle.Liveness, Class: oracle.ClassDaemon, Subject: oracle.Subject{ID: t.ID},
				Facts: oracle.Facts{oracle.FactWhat: oracle.ForeignTask, oracle.FactReported: t.Namespace,
					oracle.FactTrue: l.Containers[home].Namespace},
			})
		}
	}
	return uniqueCauses(found), nil
}

// lists are what containerd has listed at each look.
func lists(h *harness.History) (all []*oracle.Daemon) {
	add := func(i *oracle.Inventory) {
		if i != nil && i.Daemon != nil {
			all = append(all, i.Daemon)
		}
	}
	add(h.Before)
	if h.CRI != nil {
		add(h.CRI.Pod)
		for _, r := range h.CRI.Rounds {
			add(r.Look.Inventory)
		}
	}
	if h.After != nil {
		add(h.After.Inventory)
	}
	return all
}
