package audit

import (
	"path"
	"strings"

	"github.com/shimquake/shimquake/oracle/fact"
	"github.com/shimquake/shimquake/oracle/inventory"
	"github.com/shimquake/shimquake/oracle/scan"
)

// bundles reports the bundles without a shim, the partly removed bundles, and the work
// directories without a bundle.
func (c *comparison) bundles() {
	for _, b := range c.Bundles {
		k := Key{b.Namespace, b.ID}
		isServed := c.Blind || // an unread process may be its shim
			c.shimOf[k] != nil || c.helped[k] || b.Address != "" && c.byAddress[socketKey(b.Address)] != nil
		isOfBundle := b.Work && c.bundleOf[k] != nil // it is reported with its bundle
		if !b.Hidden && (isServed || isOfBundle || c.Known[k].runs()) {
			continue
		}
		fs := fact.Facts{fact.Task: c.task(k), fact.Shim: fact.None}
		switch {
		case b.Hidden:
			fs[fact.Bundle] = fact.Hidden
		case b.Work:
			fs[fact.Bundle], fs[fact.Kind] = fact.Gone, fact.AWorkDir
		}
		s := c.suspect(k, fs)
		s.Path = b.Path
		if b.Hidden { // containerd ignores a name that begins with a dot
			s.Missing = []string{"end of its removal"}
			if c.isDown() {
				s.Sure = Certain
			}
		} else if at, ok := c.Changed[b.Path]; ok && !b.Work && c.taken.Sub(at) < helperTime {
			s.Sure = Likely // containerd may be about to start the shim
		}
	}
}

// runcStates reports runc's states of containers without a task and without a process.
func (c *comparison) runcStates() {
	for _, r := range c.RuncStates {
		k := Key{r.Namespace, r.ID}
		if c.task(k) == fact.None {
			c.suspect(k, fact.Facts{fact.Task: fact.None}).Path = r.Path
		}
	}
}

// isUnowned reports whether no containerd knows the container of a cgroup. It checks all
// containerds, because the path of a cgroup does not identify its containerd.
func (c *comparison) isUnowned(g Cgroup) bool {
	return c.Complete && c.peersAnswered && c.Untrusted == 0 && !c.anywhere[g.Key.ID]
}

// cgroups reports the empty cgroups of containers without a task. On cgroup v1 a
// container has a group in each hierarchy, but cgroups reports only one of them.
func (c *comparison) cgroups() {
	reported := map[Key]bool{}
	for _, g := range c.Cgroups {
		if !c.isUnowned(g) || reported[g.Key] || len(g.Procs) > 0 {
			continue
		}
		reported[g.Key] = true
		s := c.suspect(g.Key, fact.Facts{fact.Task: fact.None, fact.Procs: fact.None})
		s.Path = g.Path
		if g.Key.Namespace == "" {
			s.Sure = Likely // only the name of the cgroup shows that it is a container's
		}
	}
}

// isNetNS reports whether a mount keeps a network namespace.
func isNetNS(m inventory.Mount) bool { return m.Type == "nsfs" && strings.HasPrefix(m.Root, "net:") }

// mounts reports mounts of containers without a task, and network namespaces that no
// container names.
func (c *comparison) mounts() {
	if !c.Complete {
		return
	}
	used := map[string]bool{}
	for _, is := range c.Known {
		if is.Container != nil {
			used[path.Base(is.Container.NetNS)] = true
		}
	}
	for _, m := range c.Mounts {
		ns, id := scan.MountOwner(m.Point)
		k, name := Key{ns, id}, path.Base(m.Point)
		switch {
		case isNetNS(m) && (used[name] || !strings.HasPrefix(name, "cni-")):
			// Others do not come from CNI, but for example from `ip netns add`.
		case isNetNS(m):
			s := c.suspect(k, fact.Facts{fact.MountType: m.Type}, "container that names this network namespace")
			s.Path, s.Sure = m.Point, Likely
		case !c.Known[k].runs() && (name == "rootfs" || !c.ids[id]): // CRI keeps a pod's mounts as long as the pod exists
			fs := fact.Facts{fact.MountType: m.Type, fact.Task: fact.None, fact.Bundle: fact.Gone}
			if c.bundleOf[k] != nil {
				fs[fact.Bundle] = fact.There
			}
			c.suspect(k, fs).Path = m.Point
		}
	}
}

// sockets reports the shims' sockets without a listener. They are harmless, but they show
// that a shim was killed or was not cleaned up.
func (c *comparison) sockets() {
	for _, socket := range c.Sockets {
		// The socket of a shim that exits, or that is being cleaned up, has no listener before
		// its removal. On a busy machine this takes some seconds.
		of := c.socketOf[path.Base(socket.Path)]
		if socket.Listening || c.helped[of] || c.shimOf[of] != nil {
			continue
		}
		fs := fact.Facts{fact.Socket: fact.Silent}
		if c.named[socketKey(socket.Path)] {
			fs[fact.Bundle] = fact.Named
		} else if len(c.Bundles) == 0 {
			fs[fact.Bundle] = fact.NoneLeft
		}
		s := c.suspect(of, fs, "listener")
		s.Path, s.Sure = socket.Path, Certain
	}
}
