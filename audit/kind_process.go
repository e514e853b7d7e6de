package audit

import (
	"fmt"
	"path"
)

// ProcessKind is a process of a container that containerd does not know, or a zombie
// below a shim.
const ProcessKind Kind = "process"

var forgottenKind = kind{
	name: ProcessKind,
	find: func(c *comparison) []Suspect { return append(c.forgotten(), c.zombies()...) },
	do: func(s Suspect) string {
		if s.has("state=zombie") {
			return "its shim does not reap it: delete the pod as usual; a zombie only uses a pid"
		}
		return fmt.Sprintf("check its owner's logs, then kill %d, and run runc --root %s delete %s",
			s.PID, path.Join("/run/containerd/runc", s.Namespace), s.ID)
	},
}

// forgotten returns the init processes that containerd does not know, and the processes
// in the cgroups of such containers.
func (c *comparison) forgotten() []Suspect {
	var out []Suspect
	reported := map[int]bool{}
	add := func(p *Process, k Key, task string, sure bool) {
		if p == nil || p.Zombie() || p.Shim != nil || reported[p.PID] {
			return
		}
		reported[p.PID] = true
		s := c.suspect(ProcessKind, k)
		s.PID, s.Start, s.Age = p.PID, p.Start, p.Age
		if !sure {
			s.Sure = Likely
		}
		s.Facts = facts("owner", "container", "task", task, "parent", c.parentOf(p), "state", stateOf(p))
		s.Missing = []string{"task"}
		if task == stopped {
			s.Missing = []string{"end: its task has stopped"}
		} else if c.shimOf[k] == nil && c.parentOf(p) != "shim" {
			s.Missing = append(s.Missing, "shim")
		}
		out = append(out, s)
	}
	for _, r := range c.RuncStates {
		p, k := c.byInner[r.PID], Key{r.Namespace, r.ID}
		if r.PID == 0 || p == nil || p.Start != r.Start {
			continue
		}
		if task := c.task(k); task == none || task == stopped {
			add(p, k, task, true)
		}
	}
	for _, g := range c.Cgroups {
		if !c.isUnowned(g) {
			continue
		}
		for _, pid := range g.Procs {
			add(c.byPID[pid], g.Key, none, g.Key.Namespace != "")
		}
	}
	return out
}

// parentOf returns the value of the fact parent for a process (see oracle/fact).
func (c *comparison) parentOf(p *Process) string {
	parent := c.byPID[p.Parent]
	switch {
	case parent != nil && parent.Shim != nil:
		return "shim"
	case parent == nil || parent.Inner == 1:
		return "init"
	}
	return "process"
}

// zombies returns the zombies that their shim does not reap.
func (c *comparison) zombies() []Suspect {
	var out []Suspect
	for i := range c.Processes {
		p := &c.Processes[i]
		parent := c.byPID[p.Parent]
		if !p.Zombie() || parent == nil || !parent.Serves() {
			continue
		}
		s := c.suspect(ProcessKind, Key{})
		s.PID, s.Start, s.Age, s.Sure = p.PID, p.Start, p.Age, Likely
		s.Path = p.Comm
		s.Namespace = parent.Shim.Namespace
		s.Facts = facts("parent", "shim", "state", "zombie")
		s.Missing = []string{"shim that reaps it: process " + itoa(parent.PID) + " of " + parent.Shim.ID}
		out = append(out, s)
	}
	return out
}
