package audit

import (
	"path"
	"strings"

	"github.com/shimquake/shimquake/oracle/fact"
	"github.com/shimquake/shimquake/oracle/finding"
	"github.com/shimquake/shimquake/oracle/inventory"
	"github.com/shimquake/shimquake/oracle/scan"
)

// mountedKind is a mount, or a network namespace.
var mountedKind = kind{
	class: finding.ClassMount,
	read:  (*viewing).mounts, // and the cgroups
	find:  (*comparison).mounts,
	do:    always("umount it (safe: the kernel refuses while it is in use)"),
}

// isNetNS reports whether a mount keeps a network namespace.
func isNetNS(m inventory.Mount) bool { return m.Type == "nsfs" && strings.HasPrefix(m.Root, "net:") }

// mounts returns mounts of containers without a task, and network namespaces that no
// container names.
func (c *comparison) mounts() {
	if !c.Complete {
		return
	}
	used := map[string]bool{}
	for _, k := range c.Known.Containers {
		used[path.Base(k.NetNS)] = true
	}
	for _, m := range c.Mounts {
		ns, id := scan.MountOwner(m.Point)
		k, name := Key{ns, id}, path.Base(m.Point)
		fs := fact.Facts{fact.MountType: m.Type}
		switch {
		case isNetNS(m):
			if used[name] || !strings.HasPrefix(name, "cni-") {
				continue // others do not come from CNI, but for example from `ip netns add`
			}
		case c.has(k) || name != "rootfs" && c.ids[id]: // CRI keeps a pod's mounts as long as the pod exists
			continue
		default:
			fs[fact.Task], fs[fact.Bundle] = fact.None, fact.Gone
			if c.bundleOf[k] != nil {
				fs[fact.Bundle] = fact.There
			}
		}
		s := c.suspect(k, fs)
		s.Path = m.Point
		if isNetNS(m) {
			s.Sure, s.Missing = Likely, []string{"container that names this network namespace"}
		}
	}
}
