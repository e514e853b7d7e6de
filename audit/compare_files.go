package audit

import (
	"path"
	"strings"
)

// bundles are those without a shim, those that containerd had begun to remove, and work
// directories alone.
func (c *comparison) bundles() []Suspect {
	var out []Suspect
	for i := range c.Bundles {
		b := &c.Bundles[i]
		k := Key{b.Namespace, b.ID}
		_, task := c.Known.Tasks[k]
		shim := c.shimOf[k]
		if shim == nil && b.Address != "" {
			shim = c.byAddress[socketKey(b.Address)]
		}
		s := c.suspect(Directory, k)
		s.Path, s.Changed = b.Path, b.Changed
		at := "there"
		switch {
		case b.Hidden:
			at, s.Sure = "hidden", Certain // its name begins with a dot: containerd passes it over
			s.Missing = []string{"end of its removal"}
		case task || c.Known.Sandboxes[k] || shim != nil || c.helped[k]:
			continue
		case b.Work && c.bundleOf[k] != nil:
			continue // told of with its bundle
		case b.Work:
			at = "gone"
			s.Missing = []string{"bundle"}
		default:
			if n := c.taken.Sub(b.Changed); n < helperTime && !b.Changed.IsZero() {
				s.Sure = Likely // its shim may be about to be started
			}
			s.Missing = []string{"shim"}
			if c.Complete {
				s.Missing = []string{"task", "shim"}
			}
		}
		kind := ""
		if b.Work {
			kind = "work-directory"
		}
		if at == "there" {
			at = "" // as the catalogue has it: of a bundle it goes without saying
		}
		s.Facts = facts("task", c.task(k), "bundle", at, "shim", none, "kind", kind)
		out = append(out, s)
	}
	return out
}

// runcStates are those of containers without a task and without a process.
func (c *comparison) runcStates() []Suspect {
	var out []Suspect
	for _, r := range c.RuncStates {
		k := Key{r.Namespace, r.ID}
		if _, ok := c.Known.Tasks[k]; ok || !c.Complete {
			continue
		}
		s := c.suspect(RuncState, k)
		s.Path, s.Changed = r.Path, r.Changed
		s.Facts, s.Missing = facts("task", none), []string{"task"}
		out = append(out, s)
	}
	return out
}

// nobodys reports whether no containerd has the container of a cgroup. Where the path
// does not tell the namespace, it may be of any containerd.
func (c *comparison) nobodys(g Cgroup) bool {
	return c.Complete && !c.anywhere[g.Key.ID] && (c.everywhere || g.Key.Namespace != "")
}

// cgroups are those without a process whose container has no task. One container has a
// group in each hierarchy of cgroup v1: it is told once.
func (c *comparison) cgroups() []Suspect {
	var out []Suspect
	told := map[Key]bool{}
	for _, g := range c.Cgroups {
		if !c.nobodys(g) || told[g.Key] || len(g.Procs) > 0 {
			continue
		}
		told[g.Key] = true
		s := c.suspect(Group, g.Key)
		s.Path = g.Path
		s.Facts, s.Missing = facts("task", none, "procs", none), []string{"task"}
		if g.Key.Namespace == "" {
			s.Sure = Likely // by its name alone it may be somebody else's
		}
		out = append(out, s)
	}
	return out
}

// mounts are those of containers without a task, and network namespaces that no container
// names.
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
		k := mountKey(m.Point)
		if m.NetNS != "" {
			if used[path.Base(m.Point)] || !strings.HasPrefix(path.Base(m.Point), "cni-") {
				continue // only CNI's have such a name; `ip netns add` is somebody else's
			}
		} else if c.mountUsed(m, k) {
			continue
		}
		s := c.suspect(Mounted, k)
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
	return !inBundle && c.ids[k.ID] // CRI keeps a pod's mounts while there is the pod
}

func (c *comparison) bundleAt(k Key) string {
	if c.bundleOf[k] != nil {
		return "there"
	}
	return "gone"
}

// sockets are those on which nobody listens. They harm nobody, and tell of a shim that
// was killed or never cleaned up after.
func (c *comparison) sockets() []Suspect {
	var out []Suspect
	for _, socket := range c.Sockets {
		if socket.Listening {
			continue
		}
		s := c.suspect(Listener, socket.Of)
		s.Path, s.Changed, s.Sure = socket.Path, socket.Changed, Certain
		s.Missing = []string{"listener"}
		bundle := ""
		if _, ok := c.addressOf[socketKey(socket.Path)]; ok {
			bundle = "named"
		} else if len(c.Bundles) == 0 {
			bundle = "none-left"
		}
		s.Facts = facts("bundle", bundle, "socket", "silent")
		out = append(out, s)
	}
	return out
}
