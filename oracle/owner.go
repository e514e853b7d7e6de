package oracle

import (
	"path"
	"slices"
	"strings"
)

// owner names the container of a process by its cgroup: the deepest part of the path that
// is the id of something known, a container, a task, a bundle or a runc state. When
// nothing of it is left but its group below the scene's cgroups, that group names it.
// Otherwise: "", "".
func owner(p Process, inv Inventory) (ns, id string) {
	words := strings.Split(strings.Trim(p.Cgroup, "/"), "/")
	for i := len(words) - 1; i >= 0; i-- {
		id := unitID(words[i])
		if id == "" {
			continue
		}
		// Usually runc's path is /NAMESPACE/ID; with CRI the parent is a pod's group and tells
		// no namespace.
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
			return cgroupOwner(c.Rel)
		}
	}
	return "", ""
}

// knows reports whether anything of that id is there, and in which containerd namespace;
// ns "" asks for any.
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
	if t, ok := inv.Daemon.task(ns, id); ok {
		return t.Namespace, true
	}
	i := slices.IndexFunc(inv.Daemon.Containers, func(r Ref) bool { return is(r.Namespace, r.ID) })
	if i < 0 {
		return "", false
	}
	return inv.Daemon.Containers[i].Namespace, true
}

// unitID reads an id from one part of a cgroup path: "c1" itself, and "c1" from systemd's
// "cri-containerd-c1.scope" (the runtime's systemd driver writes PREFIX-ID.scope).
func unitID(word string) string {
	name, ok := strings.CutSuffix(word, ".scope")
	if !ok {
		return word
	}
	for _, prefix := range []string{"cri-containerd-", "docker-", "nerdctl-"} {
		if id, ok := strings.CutPrefix(name, prefix); ok {
			return id
		}
	}
	return name
}

// cgroupOwner guesses NAMESPACE and ID of a directory below the scene's cgroups. Groups
// that a container made within its own are its, too.
func cgroupOwner(rel string) (ns, id string) {
	words := strings.Split(rel, "/")
	if len(words) < 2 {
		return "", unitID(rel)
	}
	return words[0], unitID(words[1])
}

// mountOwner reads the container or pod from a mount point in a bundle or in a directory
// of CRI.
func mountOwner(point string) (ns, id string) {
	for _, parent := range bundleParents {
		if _, rest, ok := strings.Cut(point, "/"+parent+"/"); ok {
			if words := strings.SplitN(rest, "/", 3); len(words) >= 2 {
				return words[0], strings.TrimPrefix(words[1], ".")
			}
		}
	}
	for _, parent := range criParents {
		if _, rest, ok := strings.Cut(point, "/"+parent+"/"); ok {
			id, _, _ := strings.Cut(rest, "/")
			return "k8s.io", path.Base(id)
		}
	}
	return "", ""
}
