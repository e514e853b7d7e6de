package audit

import (
	"path"
	"slices"
	"strings"

	"github.com/shimquake/shimquake/oracle/inventory"
	"github.com/shimquake/shimquake/oracle/scan"
)

// cgroupDepth limits the levels of groups that are read. Kubernetes has 5.
const cgroupDepth = 12

// maxCgroups limits the groups of a hierarchy that are read.
const maxCgroups = 50_000

// territory notes which groups may belong to containerds of other views. A group belongs
// to the containerd whose top is its nearest ancestor. Another containerd with the same
// top is a peer, because it may own any group of this view.
func (w *viewing) territory(own []inventory.Mount) {
	for _, p := range w.candidates {
		if p.notRoots != "" || slices.Contains(w.group.daemons, p) {
			continue
		}
		all, _ := inventory.Mounts(w.dir(p.PID)) // an error means that the process has exited
		isPeer := false
		for _, theirs := range all {
			for _, h := range own {
				switch {
				case theirs.Device != h.Device || !theirs.IsCgroup():
				case theirs.Root == h.Root:
					isPeer = true
				case strings.HasPrefix(theirs.Root, strings.TrimSuffix(h.Root, "/")+"/"):
					w.others = append(w.others, path.Join(h.Point, strings.TrimPrefix(theirs.Root, h.Root)))
				}
			}
		}
		if isPeer {
			w.Peers = append(w.Peers, p.PID)
		}
	}
	if w.PID != 0 && len(w.Peers) > 0 && w.View.Untrusted == 0 {
		w.note("cgroups are not compared, because other containerds have the same hierarchy, and --pid leaves them out:"+
			" processes %s", first(w.Peers))
	}
}

// cgroups lists the groups of a hierarchy that have the name of a container. It skips the
// groups below them, because a container that is a node (kind) has its own containers. It
// also skips the groups that root has delegated to a user.
func (w *viewing) cgroups(h inventory.Mount) error {
	ids, left := w.ids(), maxCgroups
	err := inventory.EachCgroup(w.tree, h.Point, func(name string) bool {
		rel := strings.TrimPrefix(strings.TrimPrefix(name, h.Point), "/")
		if left--; left < 0 || slices.Contains(w.others, name) || w.owned(name) != nil {
			return false
		}
		k, ok := cgroupKey(rel, w.Namespaces)
		if ok && scan.IsName(k.ID) {
			w.addCgroup(name, k, ids)
		}
		return !ok && strings.Count(rel, "/") < cgroupDepth
	})
	if left < 0 {
		w.note("%s has more than %d groups, and the others were not read", h.Point, maxCgroups)
	}
	return err
}

// addCgroup adds a cgroup to the view, with its processes if its container has no task.
// ids are the ids of all tasks and sandboxes. The processes have their pids in the
// auditor's PID namespace.
func (w *viewing) addCgroup(name string, k Key, ids map[string]bool) {
	g := Cgroup{Path: name, Key: k}
	if !ids[k.ID] {
		g.Procs = inventory.CgroupProcs(w.tree, name)
		_ = inventory.EachCgroup(w.tree, name, func(sub string) bool { // an error also ends the whole walk
			g.Procs = append(g.Procs, inventory.CgroupProcs(w.tree, sub)...)
			return w.owned(sub) == nil
		})
		slices.Sort(g.Procs)
		g.Procs = slices.Compact(g.Procs)
	}
	if w.budget.Cut() == nil {
		w.Cgroups = append(w.Cgroups, g)
	}
}

// cgroupKey returns the container of a group, from one of three forms of its path. ctr
// uses NAMESPACE/ID at the top. With systemd, the name is cri-containerd-ID.scope,
// docker-ID.scope or nerdctl-ID.scope. Without systemd, CRI and docker use an id of 64
// hexadecimal digits.
func cgroupKey(rel string, namespaces map[string]bool) (Key, bool) {
	parent, base := path.Split(rel)
	parent = strings.Trim(parent, "/")
	if namespaces[parent] {
		return Key{parent, scan.UnitID(base)}, true
	}
	if id := scan.UnitID(base); id != base && id+".scope" != base || scan.LongID(id) {
		return Key{"", id}, true
	}
	return Key{}, false
}
