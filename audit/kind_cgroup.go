package audit

// Group is a cgroup.
const Group Kind = "cgroup"

var groupKind = kind{
	name: Group,
	find: (*comparison).cgroups,
	do: func(_ Suspect) string {
		return "rmdir it: the kernel refuses while anything is in it"
	},
}

// isUnowned reports whether no containerd has the container of a cgroup. Two
// containerds may have the same namespaces, so that the path does not identify the
// owner.
func (c *comparison) isUnowned(g Cgroup) bool {
	return c.Complete && c.peersAnswered && c.Untrusted == 0 && !c.anywhere[g.Key.ID]
}

// cgroups returns empty cgroups of containers without a task. On cgroup v1 a container
// has a group in each hierarchy, and is reported once.
func (c *comparison) cgroups() []Suspect {
	var out []Suspect
	reported := map[Key]bool{}
	for _, g := range c.Cgroups {
		if !c.isUnowned(g) || reported[g.Key] || len(g.Procs) > 0 {
			continue
		}
		reported[g.Key] = true
		s := c.suspect(Group, g.Key)
		s.Path = g.Path
		s.Facts, s.Missing = facts("task", none, "procs", none), []string{"task"}
		if g.Key.Namespace == "" {
			s.Sure = Likely // only its name links it to a container
		}
		out = append(out, s)
	}
	return out
}
