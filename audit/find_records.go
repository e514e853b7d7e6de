package audit

import (
	"fmt"
	"slices"
	"strings"

	"github.com/shimquake/shimquake/oracle/fact"
)

// tasks reports the tasks with a wrong status. Such a task is running without a process,
// or it has no shim, or its shim does not respond.
func (c *comparison) tasks() {
	if c.Blind {
		return // an unread process may be a task's process or shim
	}
	for k, is := range c.Known {
		t := is.Task
		if t == nil {
			continue
		}
		shim, fs := c.server(k), fact.Facts{fact.Task: t.Status}
		isKnown := t.Status != fact.TaskUnknown
		switch {
		case shim == nil && (c.remote(k) || isKnown): // the status is newer than the list of processes
		case shim == nil:
			fs[fact.Shim] = fact.None
			c.suspect(k, fs)
		case !isKnown && shim.Family()[fact.State] == fact.AStopped:
			fs[fact.State] = fact.AStopped
			c.ofProcess(k, shim, fs, "response of its shim, which SIGSTOP has frozen").Sure = Certain
		case !isKnown:
			c.ofProcess(k, shim, fs, "response of its shim").Sure = Likely
		case t.PID != 0 && c.byInner[t.PID] == nil && t.Status != fact.TaskStopped:
			fs[fact.Process] = fact.None
			c.ofProcess(k, shim, fs, fmt.Sprintf("process %d, which containerd reports as %s", t.PID, t.Status))
		}
	}
}

// remote reports whether a task's shim has no Unix socket. Such a shim may run in a
// virtual machine or on another host.
func (c *comparison) remote(k Key) bool {
	b := c.bundleOf[k]
	return b != nil && strings.Contains(b.Address, "://") && !strings.HasPrefix(b.Address, "unix://")
}

// inCRI reports the containers that CRI does not list, or that CRI reports as running
// without a task.
func (c *comparison) inCRI() {
	if !c.Complete || !slices.ContainsFunc(c.Daemons, func(d Daemon) bool { return d.CRI }) {
		return
	}
	for k, is := range c.Known {
		if is.Container != nil && is.Container.Kind != "" && is.CRI == "" {
			fs := fact.Facts{fact.Task: c.task(k), fact.Listed: fact.NotByCRI}
			c.suspect(k, fs, "CRI's record of the "+is.Container.Kind).Changed = is.Container.Created
		}
		if is.Task == nil && is.CRI == "CONTAINER_RUNNING" {
			c.suspect(k, fact.Facts{fact.Task: fact.None}, "task: CRI reports it as running")
		}
	}
}
