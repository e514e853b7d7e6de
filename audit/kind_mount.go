package audit

import (
	"path"
	"strings"

	"github.com/shimquake/shimquake/oracle/scan"
)

// MountKind is a mount, or a network namespace.
const MountKind Kind = "mount"

var mountedKind = kind{
	name: MountKind,
	find: (*comparison).mounts,
	do: func(_ Suspect) string {
		return "umount it (safe: the kernel refuses while it is in use)"
	},
}

// mounts returns mounts of containers without a task, and network namespaces that no
// container names.
func (c *comparison) mounts() []Suspect {
	if !c.Complete {
		return nil
	}
	used := map[string]bool{}
	for _, k := range c.Known.Containers {
		used[path.Base(k.NetNS)] = true
	}
	var out []Suspect
	for _, m := range c.Mounts {
		ns, id := scan.MountOwner(m.Point)
		k := Key{ns, id}
		if m.NetNS != "" {
			if used[path.Base(m.Point)] || !strings.HasPrefix(path.Base(m.Point), "cni-") {
				continue // others do not come from CNI, but for example from `ip netns add`
			}
		} else if c.mountUsed(m, k) {
			continue
		}
		s := c.suspect(MountKind, k)
		s.Path = m.Point
		s.Facts = facts("task", none, "bundle", c.bundleAt(k), "type", m.Type)
		s.Missing = []string{"task"}
		if m.NetNS != "" {
			s.Sure, s.Missing = Likely, []string{"container that names this network namespace"}
			s.Facts = facts("type", m.Type)
		}
		out = append(out, s)
	}
	return out
}

func (c *comparison) mountUsed(m Mount, k Key) bool {
	if _, ok := c.Known.Tasks[k]; ok || c.Known.Sandboxes[k] {
		return true
	}
	inBundle := path.Base(m.Point) == "rootfs"
	return !inBundle && c.ids[k.ID] // CRI keeps a pod's mounts as long as the pod exists
}

func (c *comparison) bundleAt(k Key) string {
	if c.bundleOf[k] != nil {
		return "there"
	}
	return "gone"
}
