package audit

import (
	"github.com/shimquake/shimquake/oracle/fact"
	"github.com/shimquake/shimquake/oracle/finding"
)

// groupKind is a cgroup.
var groupKind = kind{
	class: finding.ClassCgroup,
	find:  (*comparison).cgroups,
	do:    always("rmdir it (safe: the kernel refuses if a process is in it)"),
}

// isUnowned reports whether no containerd knows the container of a cgroup. It checks all
// containerds, because the path of a cgroup does not identify its containerd.
func (c *comparison) isUnowned(g Cgroup) bool {
	return c.Complete && c.peersAnswered && c.Untrusted == 0 && !c.anywhere[g.Key.ID]
}

// cgroups returns the empty cgroups of containers without a task. On cgroup v1 a
// container has a group in each hierarchy, but cgroups returns only one of them.
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
