package audit

import (
	"path"
	"strings"
	"time"
)

// helperTime is how long a helper of a shim (start, delete) may live. containerd waits
// for it for at most 10 s (cleanup) and as long as the request lasts (start).
const helperTime = time.Minute

// shims are those without a task.
func (c *comparison) shims() []Suspect {
	var out []Suspect
	for i := range c.Processes {
		p := &c.Processes[i]
		if p.Shim == nil || p.Zombie() {
			continue
		}
		k := Key{p.Shim.Namespace, p.Shim.ID}
		if p.Shim.Action != "" {
			if p.Age > helperTime {
				out = append(out, c.helper(p, k))
			}
			continue
		}
		if c.hasTask(p, k) {
			continue
		}
		if s, ok := c.lonelyShim(p, k); ok {
			out = append(out, s)
		}
	}
	return out
}

func (c *comparison) hasTask(p *Process, k Key) bool {
	if _, ok := c.Known.Tasks[k]; ok {
		return true
	}
	return c.Known.Sandboxes[k] || c.busy[p.PID]
}

// lonelyShim judges a shim without a task. Where containerd cannot be asked, only one
// without a bundle is told: containerd finds shims by their bundles, and never this one.
func (c *comparison) lonelyShim(p *Process, k Key) (Suspect, bool) {
	bundle := "gone"
	_, there := c.bundleOf[k]
	here := !strings.HasSuffix(p.Cwd, deleted) && path.Base(p.Cwd) == k.ID
	if there || here {
		bundle = "there"
	}
	if !c.Complete && bundle == "there" {
		return Suspect{}, false
	}
	socket := none
	for _, name := range p.Listens {
		if c.files[socketKey(name)] {
			socket = "listening"
		}
	}
	s := c.suspect(Shim, k)
	s.PID, s.Start, s.Age = p.PID, p.Start, p.Age
	s.Facts = facts("task", c.task(k), "bundle", bundle, "socket", socket, "children", some(len(p.Children)),
		"state", stateOf(p))
	if c.Complete {
		s.Missing = append(s.Missing, "task")
		if _, ok := c.Known.Containers[k]; !ok {
			s.Missing = append(s.Missing, "container")
		}
	}
	if bundle == "gone" {
		s.Missing, s.Sure = append(s.Missing, "bundle"), Certain
	} else if p.Age < helperTime {
		s.Sure = Likely // a Create may take long on a busy disk
	}
	if socket == none {
		s.Missing = append(s.Missing, "socket")
	}
	return s, true
}

func (c *comparison) helper(p *Process, k Key) Suspect {
	s := c.suspect(Shim, k)
	s.PID, s.Start, s.Age, s.Sure = p.PID, p.Start, p.Age, Likely
	s.Facts = facts("task", c.task(k), "children", some(len(p.Children)), "state", stateOf(p), "helper", p.Shim.Action)
	s.Missing = []string{"end: a helper (" + p.Shim.Action + ") lives for a second"}
	return s
}

func some(n int) string {
	if n == 0 {
		return none
	}
	return "some"
}

// stateOf is the fact of a state that keeps a process from ending.
func stateOf(p *Process) string {
	switch p.State {
	case "Z", "X":
		return "zombie"
	case "T", "t":
		return "stopped"
	case "D":
		return "uninterruptible"
	}
	return ""
}

// forgotten are the first processes of containers that containerd does not know to run,
// and what runs in the cgroup of one.
func (c *comparison) forgotten() []Suspect {
	var out []Suspect
	told := map[int]bool{}
	add := func(p *Process, k Key, task string, sure bool) {
		if p == nil || p.Zombie() || p.Shim != nil || told[p.PID] {
			return
		}
		told[p.PID] = true
		s := c.suspect(Forgotten, k)
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
		if !c.nobodys(g) {
			continue
		}
		for _, pid := range g.Procs {
			add(c.byPID[pid], g.Key, none, g.Key.Namespace != "")
		}
	}
	return out
}

func (c *comparison) parentOf(p *Process) string {
	parent := c.byPID[p.Parent]
	switch {
	case parent != nil && parent.Shim != nil:
		return "shim"
	case parent == nil || parent.Inner == 1:
		return "init"
	}
	return "other"
}

// zombies are children that a shim does not reap.
func (c *comparison) zombies() []Suspect {
	var out []Suspect
	for i := range c.Processes {
		p := &c.Processes[i]
		parent := c.byPID[p.Parent]
		if !p.Zombie() || parent == nil || !parent.Serves() {
			continue
		}
		s := c.suspect(Forgotten, Key{})
		s.PID, s.Start, s.Age, s.Sure = p.PID, p.Start, p.Age, Likely
		s.Path = p.Comm
		s.Namespace = parent.Shim.Namespace
		s.Facts = facts("parent", "shim", "state", "zombie")
		s.Missing = []string{"shim that reaps it: process " + itoa(parent.PID) + " of " + parent.Shim.ID}
		out = append(out, s)
	}
	return out
}
