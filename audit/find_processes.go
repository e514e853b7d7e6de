package audit

import (
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/shimquake/shimquake/oracle/fact"
)

// helperTime is the maximum time of a helper (shim start, shim delete). containerd waits
// at most 10 s for `delete`, and for `start` as long as the request lasts.
const helperTime = time.Minute

// shims reports the helpers that do not exit, and the shims that serve no task.
func (c *comparison) shims() {
	for i := range c.Processes {
		p := &c.Processes[i]
		switch {
		case p.Shim == nil || p.Zombie():
		case p.Shim.Action != "":
			c.helper(p)
		case !c.Known[p.served()].runs() && !c.busy[p.PID]:
			c.idleShim(p)
		}
	}
}

// helper reports a helper of a shim if it runs for too long.
func (c *comparison) helper(p *Process) {
	if p.Age <= helperTime {
		return
	}
	fs := p.Family()
	fs[fact.Task], fs[fact.Helper] = c.task(p.served()), p.Shim.Action
	c.ofProcess(p.served(), p, fs, "end: a helper ("+p.Shim.Action+") lives for a second").Sure = Likely
}

// idleShim reports a shim that serves no task. containerd finds shims by their bundles,
// so after a restart it can never find a shim without a bundle. Another shim is no
// suspect while containerd cannot be asked.
func (c *comparison) idleShim(p *Process) {
	k, fs := p.served(), p.Family()
	fs[fact.Task], fs[fact.Bundle], fs[fact.Socket] = c.task(k), fact.Gone, fact.None
	if c.bundleOf[k] != nil || !strings.HasSuffix(p.Cwd, deleted) && path.Base(p.Cwd) == k.ID {
		fs[fact.Bundle] = fact.There
	}
	if slices.ContainsFunc(p.Listens, func(name string) bool { return c.listening[socketKey(name)] }) {
		fs[fact.Socket] = fact.Listening
	}
	if fs[fact.Bundle] == fact.There && !c.Complete {
		return
	}
	s := c.ofProcess(k, p, fs)
	if c.Known[k].Container == nil && c.Complete {
		s.Missing = slices.Insert(s.Missing, 1, "container")
	}
	if fs[fact.Bundle] == fact.There && p.Age < helperTime {
		s.Sure = Likely // a Create may be in progress, which takes long on a busy disk
	}
}

// forgotten reports the init processes that containerd does not know, the processes in
// the cgroups of such containers, and zombies.
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
	c.zombies()
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

// zombies reports the zombies that their shim does not reap.
func (c *comparison) zombies() {
	for i := range c.Processes {
		p := &c.Processes[i]
		parent := c.byPID[p.Parent]
		if !p.Zombie() || parent == nil || !parent.Serves() {
			continue
		}
		s := c.ofProcess(Key{Namespace: parent.Shim.Namespace}, p,
			fact.Facts{fact.Parent: fact.ByShim, fact.State: fact.AZombie},
			fmt.Sprintf("shim that reaps it: process %d of %s", parent.PID, parent.Shim.ID))
		s.Sure, s.Path = Likely, p.Comm
	}
}
