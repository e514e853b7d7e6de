package inventory

import (
	"slices"
	"strings"

	"github.com/shimquake/shimquake/oracle/scan"
)

// Owner returns the container of a process by its cgroup. It is the deepest part of the
// path that is a known id: of a container, a task, a bundle or a runc state. If only the
// group below the scene's cgroups is left, its name is used. Otherwise Owner returns "",
// "".
func (inv Inventory) Owner(p Process) (ns, id string) {
	words := strings.Split(strings.Trim(p.Cgroup, "/"), "/")
	for i := len(words) - 1; i >= 0; i-- {
		id := scan.UnitID(words[i])
		if id == "" {
			continue
		}
		// Usually runc's path is /NAMESPACE/ID; with CRI the parent is a pod's group and
		// shows no namespace.
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

// knows returns whether a thing with that id exists, and in which containerd namespace;
// ns "" matches any.
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
	i := slices.IndexFunc(inv.Daemon.Containers, func(r Ref) bool { return is(r.Namespace, r.ID) })
	if i < 0 {
		return "", false
	}
	return inv.Daemon.Containers[i].Namespace, true
}

// Owner guesses NAMESPACE and ID of a directory below the scene's cgroups. Groups that a
// container made within its own belong to it, too.
func (c Cgroup) Owner() (ns, id string) {
	words := strings.Split(c.Rel, "/")
	if len(words) < 2 {
		return "", scan.UnitID(c.Rel)
	}
	return words[0], scan.UnitID(words[1])
}
