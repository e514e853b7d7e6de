package audit

import (
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/shimquake/shimquake/oracle/scan"
)

// cgroupDepth is how deep groups are looked for. Kubernetes has 5 levels.
const cgroupDepth = 12

// cgroups lists the groups of a hierarchy that are a container's by their name. What is
// below one is its own: a container that is a node has containers of its own.
func (l *look) cgroups(t *scan.Tree, v *View, hierarchy string) {
	namespaces := namespacesOf(v)
	var walk func(rel string, depth int)
	walk = func(rel string, depth int) {
		entries, err := t.List(path.Join(hierarchy, rel))
		if err != nil || depth > cgroupDepth {
			return // removed meanwhile
		}
		for _, e := range entries {
			if !e.IsDir() {
				continue
			}
			name := path.Join(rel, e.Name())
			if k, ok := cgroupKey(name, namespaces); ok {
				v.Cgroups = append(v.Cgroups, Cgroup{Path: path.Join(hierarchy, name), Key: k})
				continue
			}
			walk(name, depth+1)
		}
	}
	walk("", 0)
}

// cgroupKey names the container of a group: NAMESPACE/ID at the top, as ctr has it;
// systemd's cri-containerd-ID.scope, docker-ID.scope and nerdctl-ID.scope; or a name of
// 64 hexadecimal digits, which CRI and docker give their containers.
func cgroupKey(rel string, namespaces []string) (Key, bool) {
	parent, base := path.Split(rel)
	parent = strings.Trim(parent, "/")
	if slices.Contains(namespaces, parent) {
		return Key{parent, scan.UnitID(base)}, true
	}
	id := scan.UnitID(base)
	if id != base && id+".scope" != base {
		return Key{"", id}, true
	}
	if scan.LongID(id) {
		return Key{"", id}, true
	}
	return Key{}, false
}

// namespacesOf are the containerd namespaces of which anything is there.
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

// procsIn are the processes in a group and in those below it, as the reader of the file
// sees them.
func procsIn(t *scan.Tree, dir string) []int {
	var out []int
	for line := range strings.Lines(t.ReadAll(path.Join(dir, "cgroup.procs"))) {
		if pid, err := strconv.Atoi(strings.TrimSpace(line)); err == nil && pid > 0 {
			out = append(out, pid)
		}
	}
	entries, err := t.List(dir)
	if err != nil {
		return out
	}
	for _, e := range entries {
		if e.Type()&fs.ModeDir != 0 {
			out = append(out, procsIn(t, path.Join(dir, e.Name()))...)
		}
	}
	return out
}
