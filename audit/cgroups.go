package audit

import (
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/moby/sys/mountinfo"

	"github.com/shimquake/shimquake/oracle/scan"
)

// cgroupDepth limits the levels of groups that are read. Kubernetes has 5.
const cgroupDepth = 12

// maxCgroups limits the groups of a hierarchy that are read.
const maxCgroups = 50_000

// hierarchy is a mounted cgroup hierarchy.
type hierarchy struct {
	point string
	dev   string // the same for all mounts of one hierarchy
	top   string // the path of the mounted group, in the mount namespace of the audit
}

func hierarchyOf(m *mountinfo.Info) hierarchy {
	return hierarchy{m.Mountpoint, fmt.Sprint(m.Major, ":", m.Minor), m.Root}
}

// territory notes which groups may belong to containerds of other views. A group belongs
// to the containerd whose top is its nearest ancestor. Another containerd with the same
// top is a peer, because it may own any group of this view.
func (w *viewing) territory(own []hierarchy) {
	for _, c := range w.table.candidates {
		if c.p.notRoots != "" || slices.ContainsFunc(w.group.daemons, func(own candidate) bool { return own.p == c.p }) {
			continue
		}
		infos, err := scan.Mounts(filepath.Join(w.Proc, itoa(c.p.PID)))
		if err != nil {
			continue // the process has exited
		}
		peer := false
		for _, m := range infos {
			for _, h := range own {
				theirs := hierarchyOf(m)
				switch {
				case theirs.dev != h.dev || m.FSType != "cgroup" && m.FSType != "cgroup2":
				case theirs.top == h.top:
					peer = true
				case strings.HasPrefix(theirs.top, strings.TrimSuffix(h.top, "/")+"/"):
					w.others = append(w.others, path.Join(h.point, strings.TrimPrefix(theirs.top, h.top)))
				}
			}
		}
		if peer {
			w.Peers = append(w.Peers, c.p.PID)
		}
	}
}

// cgroups lists the groups of a hierarchy that have the name of a container. It skips the
// groups below them, because a container that is a node (kind) has its own containers. It
// also skips the groups that root has delegated to a user.
func (w *viewing) cgroups(h hierarchy) {
	namespaces := namespacesOf(w.View)
	ids := map[string]bool{} // of tasks
	for k := range w.Known.Tasks {
		ids[k.ID] = true
	}
	left := maxCgroups
	var walk func(rel string, depth int)
	walk = func(rel string, depth int) {
		entries, err := w.tree.List(path.Join(h.point, rel))
		if err != nil || depth > cgroupDepth {
			return // the group was removed during the scan
		}
		for _, e := range entries {
			name := path.Join(rel, e.Name())
			at := path.Join(h.point, name)
			if !e.IsDir() || slices.Contains(w.others, at) {
				continue
			}
			if left--; left < 0 {
				return
			}
			if k, ok := cgroupKey(name, namespaces); ok {
				if isName(k.ID) && w.owned(at) == nil {
					w.addCgroup(at, k, ids)
				}
				continue
			}
			walk(name, depth+1)
		}
	}
	walk("", 0)
	if left < 0 {
		w.Notes = append(w.Notes, fmt.Sprintf("%s has more than %d groups, and the others were not read", h.point,
			maxCgroups))
	}
}

// cgroupKey returns the container of a group, from one of three forms of its path. ctr
// uses NAMESPACE/ID at the top. With systemd, the name is cri-containerd-ID.scope,
// docker-ID.scope or nerdctl-ID.scope. Without systemd, CRI and docker use an id of 64
// hexadecimal digits.
func cgroupKey(rel string, namespaces []string) (Key, bool) {
	parent, base := path.Split(rel)
	parent = strings.Trim(parent, "/")
	if slices.Contains(namespaces, parent) {
		return Key{parent, scan.UnitID(base)}, true
	}
	if id := scan.UnitID(base); id != base && id+".scope" != base || scan.LongID(id) {
		return Key{"", id}, true
	}
	return Key{}, false
}

// namespacesOf returns the containerd namespaces that have any object.
func namespacesOf(v *View) []string {
	out := slices.Clone(v.Known.Namespaces)
	for _, b := range v.Bundles {
		out = append(out, b.Namespace)
	}
	for _, s := range v.RuncStates {
		out = append(out, s.Namespace)
	}
	for _, p := range v.Processes {
		if p.Shim != nil {
			out = append(out, p.Shim.Namespace)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// maxProcs limits the size of a group's list of processes, in bytes.
const maxProcs = 1 << 20

// procsIn returns the processes in a group and in the groups below it. The pids are those
// of the auditor's PID namespace.
func procsIn(t *scan.Tree, dir string, depth int) []int {
	var out []int
	text, _ := t.ReadFile(path.Join(dir, "cgroup.procs"), maxProcs) // "" if the group was removed
	for line := range strings.Lines(string(text)) {
		if pid, err := strconv.Atoi(strings.TrimSpace(line)); err == nil && pid > 0 {
			out = append(out, pid)
		}
	}
	entries, err := t.List(dir)
	if err != nil || depth == 0 {
		return out
	}
	for _, e := range entries {
		if e.Type()&fs.ModeDir != 0 {
			out = append(out, procsIn(t, path.Join(dir, e.Name()), depth-1)...)
		}
	}
	return out
}
