package audit

import (
	"fmt"
	"path"

	"github.com/shimquake/shimquake/oracle/fact"
	"github.com/shimquake/shimquake/oracle/finding"
)

// forgottenKind is a process of a container that containerd does not know, or a zombie
// below a shim.
var forgottenKind = kind{
	class: finding.ClassProcess,
	find:  func(c *comparison) { c.forgotten(); c.zombies() },
	do: func(s Suspect) string {
		if s.Facts[fact.State] == fact.AZombie {
			return "its shim does not reap it: delete the pod as usual; a zombie only uses a pid"
		}
		return fmt.Sprintf("check its owner's logs, then kill %d, and run runc --root %s delete %s",
			s.PID, path.Join("/run/containerd/runc", s.Namespace), s.ID)
	},
}

// forgotten returns the init processes that containerd does not know, and the processes
// in the cgroups of such containers.
func (c *comparison) forgotten() {
	reported := map[int]bool{}
	add := func(p *Process, k Key, task string, sure bool) {
		if p == nil || p.Zombie() || p.Shim != nil || reported[p.PID] {
			return
		}
		reported[p.PID] = true
		parent := c.parentOf(p)
		s := c.ofProcess(k, p, fact.Facts{fact.Owner: fact.OfContainer, fact.Task: task,
			fact.Parent: parent, fact.State: p.Family()[fact.State]})
		if !sure {
			s.Sure = Likely
		}
		if task == fact.TaskStopped {
			s.Missing = []string{"end: its task has stopped"}
		} else if c.shimOf[k] == nil && parent != fact.ByShim {
			s.Missing = append(s.Missing, "shim")
		}
	}
	for _, r := range c.RuncStates {
		p, k := c.byInner[r.PID], Key{r.Namespace, r.ID}
		if r.PID == 0 || p == nil || p.Start != r.Start {
			continue
		}
		if task := c.task(k); task == fact.None || task == fact.TaskStopped {
			add(p, k, task, true)
		}
	}
	for _, g := range c.Cgroups {
		if !c.isUnowned(g) {
			continue
		}
		for _, pid := range g.Procs {
			add(c.byPID[pid], g.Key, fact.None, g.Key.Namespace != "")
		}
	}
}

// parentOf returns the value of the fact parent for a process (see oracle/fact).
func (c *comparison) parentOf(p *Process) string {
	parent := c.byPID[p.Parent]
	switch {
	case parent != nil && parent.Shim != nil:
		return fact.ByShim
	case parent == nil || parent.Inner == 1:
		return fact.ByInit
	}
	return fact.ByOther
}

// zombies returns the zombies that their shim does not reap.
func (c *comparison) zombies() {
	for i := range c.Processes {
		p := &c.Processes[i]
		parent := c.byPID[p.Parent]
		if !p.Zombie() || parent == nil || !parent.Serves() {
			continue
		}
		s := c.ofProcess(Key{Namespace: parent.Shim.Namespace}, p,
			fact.Facts{fact.Parent: fact.ByShim, fact.State: fact.AZombie})
		s.Sure, s.Path = Likely, p.Comm
		s.Missing = []string{fmt.Sprintf("shim that reaps it: process %d of %s", parent.PID, parent.Shim.ID)}
	}
}
