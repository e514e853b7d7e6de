package audit

import (
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/shimquake/shimquake/oracle/fact"
	"github.com/shimquake/shimquake/oracle/finding"
)

// shimKind is a shim without a task, or a helper (shim start, shim delete) that does not
// exit.
var shimKind = kind{
	class: finding.ClassShim,
	find:  (*comparison).shims,
	do: func(s Suspect) string {
		switch {
		case s.Facts[fact.State] == fact.AStopped:
			return fmt.Sprintf("kill -CONT %d, and audit again", s.PID)
		case s.Facts[fact.State] == fact.Uninterruptible:
			return fmt.Sprintf("the kernel blocks it, so no signal can end it: /proc/%d/stack shows what it waits for", s.PID)
		case s.Facts[fact.Children] == fact.Some:
			return fmt.Sprintf("it still has child processes: end them first (pgrep -P %d), then kill %d", s.PID, s.PID)
		}
		return fmt.Sprintf("it has no task: keep evidence (--bundle), then kill %d, after 10 s with SIGKILL",
			s.PID)
	},
}

// helperTime is the maximum time of a helper (shim start, shim delete). containerd waits
// at most 10 s for `delete`, and for `start` as long as the request lasts.
const helperTime = time.Minute

// shims returns the shims without a task, and the helpers that do not exit. If containerd
// could not be asked, it returns only shims without a bundle. containerd finds shims by
// their bundles, so it can never find such a shim.
func (c *comparison) shims() {
	for i := range c.Processes {
		p := &c.Processes[i]
		if p.Shim == nil || p.Zombie() {
			continue
		}
		k, fs := p.served(), c.shim(p)
		isLost := fs[fact.Bundle] == fact.Gone
		switch {
		case p.Shim.Action != "" && p.Age > helperTime:
			s := c.ofProcess(k, p, fs)
			s.Sure, s.Missing = Likely, []string{"end: a helper (" + p.Shim.Action + ") lives for a second"}
		case p.Shim.Action == "" && !c.has(k) && !c.busy[p.PID] && (isLost || c.Complete):
			s := c.ofProcess(k, p, fs)
			if _, ok := c.Known.Containers[k]; !ok && c.Complete {
				s.Missing = slices.Insert(s.Missing, 1, "container")
			}
			if isLost {
				s.Sure = Certain
			} else if p.Age < helperTime {
				s.Sure = Likely // a Create may be in progress, which takes long on a busy disk
			}
		}
	}
}

// shim returns the facts of a shim or a helper.
func (c *comparison) shim(p *Process) fact.Facts {
	k := p.served()
	fs := p.Family()
	fs[fact.Task], fs[fact.Helper] = c.task(k), p.Shim.Action
	if p.Shim.Action != "" {
		return fs
	}
	fs[fact.Bundle], fs[fact.Socket] = fact.Gone, fact.None
	if c.bundleOf[k] != nil || !strings.HasSuffix(p.Cwd, deleted) && path.Base(p.Cwd) == k.ID {
		fs[fact.Bundle] = fact.There
	}
	if slices.ContainsFunc(p.Listens, func(name string) bool { return c.listening[socketKey(name)] }) {
		fs[fact.Socket] = fact.Listening
	}
	return fs
}
