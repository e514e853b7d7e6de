package audit

import (
	"fmt"
	"path"
	"strings"
	"time"
)

// ShimKind is a shim without a task, or a helper (shim start, shim delete) that does not
// exit.
const ShimKind Kind = "shim"

var shimKind = kind{
	name: ShimKind,
	find: (*comparison).shims,
	do: func(s Suspect) string {
		switch {
		case s.has("state=stopped"):
			return fmt.Sprintf("kill -CONT %d, and audit again", s.PID)
		case s.has("state=uninterruptible"):
			return fmt.Sprintf("the kernel blocks it, so no signal can end it: /proc/%d/stack shows what it waits for", s.PID)
		case s.has("children=some"):
			return fmt.Sprintf("it still has child processes: end them first (pgrep -P %d), then kill %d", s.PID, s.PID)
		}
		return fmt.Sprintf("it has no task: keep evidence (--bundle), then kill %d, after 10 s with SIGKILL",
			s.PID)
	},
}

// shims returns the shims without a task.
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

// helperTime is the maximum time of a helper (shim start, shim delete). containerd waits
// at most 10 s for `delete`, and for `start` as long as the request lasts.
const helperTime = time.Minute

func (c *comparison) hasTask(p *Process, k Key) bool {
	if _, ok := c.Known.Tasks[k]; ok {
		return true
	}
	return c.Known.Sandboxes[k] || c.busy[p.PID]
}

// lonelyShim returns a suspect for a shim without a task. If containerd could not be
// asked, it reports only a shim without a bundle. containerd finds shims by their
// bundles, so it can never find such a shim.
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
	s := c.suspect(ShimKind, k)
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
		s.Sure = Likely // a Create may be in progress, which takes long on a busy disk
	}
	if socket == none {
		s.Missing = append(s.Missing, "socket")
	}
	return s, true
}

func (c *comparison) helper(p *Process, k Key) Suspect {
	s := c.suspect(ShimKind, k)
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

// stateOf returns the value of the fact state: zombie, stopped or uninterruptible, or "".
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
