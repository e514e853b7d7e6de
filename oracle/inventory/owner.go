package inventory

import (
	"strings"

	"github.com/shimquake/shimquake/oracle/scan"
)

// Owner returns the container of a process by its cgroup. That is the deepest part of the
// cgroup's path that is the id of a container, a task, a bundle or a runc state. If there
// is no such part, Owner takes the id from the name of the cgroup below the scene's
// cgroups, if it has one.
func (inv Inventory) Owner(p Process) (ns, id string) {
	words := strings.Split(strings.Trim(p.Cgroup, "/"), "/")
	for i := len(words) - 1; i >= 0; i-- {
		id := scan.UnitID(words[i])
		if id == "" {
			continue
		}
		// Usually runc's path is /NAMESPACE/ID. With CRI the parent is the pod's cgroup,
		// and not a namespace.
		parent := ""
		if i > 0 {
			parent = words[i-1]
		}
		if ns, ok := inv.knows(parent, id); ok {
			return ns, id
		}
		if ns, ok := inv.knows("", id); ok {
			return ns, id
		}
	}
	for _, c := range inv.Cgroups {
		if strings.Contains(c.Rel, "/") && strings.HasSuffix(p.Cgroup, "/"+c.Rel) {
			return c.Owner()
		}
	}
	return "", ""
}

// knows returns whether an object with an id exists, and in which containerd namespace.
// ns "" stands for any namespace.
func (inv Inventory) knows(ns, id string) (string, bool) {
	is := func(theirNS, theirID string) bool { return theirID == id && (ns == "" || theirNS == ns) }
	for _, b := range inv.Bundles {
		if is(b.Namespace, b.ID) {
			return b.Namespace, true
		}
	}
	for _, r := range inv.RuncStates {
		if is(r.Namespace, r.ID) {
			return r.Namespace, true
		}
	}
	if inv.Daemon == nil {
		return "", false
	}
	if t, ok := inv.Daemon.Task(ns, id); ok {
		return t.Namespace, true
	}
	c, ok := First(inv.Daemon.Containers, func(r Ref) bool { return is(r.Namespace, r.ID) })
	return c.Namespace, ok
}

// Owner guesses the containerd namespace and the container of a cgroup from its path
// NAMESPACE/ID. A container also owns the groups below its own.
func (c Cgroup) Owner() (ns, id string) {
	words := strings.Split(c.Rel, "/")
	if len(words) < 2 {
		return "", scan.UnitID(c.Rel)
	}
	return words[0], scan.UnitID(words[1])
}
