package audit

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/shimquake/shimquake/oracle/fact"
	"github.com/shimquake/shimquake/oracle/finding"
)

// lostTaskKind is a task with a wrong status.
var lostTaskKind = kind{
	class: finding.ClassTask,
	find:  (*comparison).tasks,
	do: func(s Suspect) string {
		switch {
		case s.Facts[fact.State] == fact.AStopped:
			return fmt.Sprintf("find out which process sent SIGSTOP to the shim, then kill -CONT %d", s.PID)
		case s.Facts[fact.Task] == fact.TaskUnknown && s.PID != 0:
			return fmt.Sprintf("read /proc/%d/stack and the shim's log in containerd's journal; do not restart containerd now:"+
				" it would treat a shim that does not respond as dead", s.PID)
		}
		return fmt.Sprintf("ctr -n %s task delete --force %s, or remove the pod: containerd then cleans up",
			s.Namespace, s.ID)
	},
}

// sorted returns the sorted keys of a map, so that the rows of a report have a fixed
// order.
func sorted[T any](m map[Key]T) []Key {
	return slices.SortedFunc(maps.Keys(m), func(a, b Key) int {
		return cmp.Or(strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.ID, b.ID))
	})
}

// tasks returns the tasks with a wrong status. Such a task is running without a process,
// or it has no shim, or its shim does not respond.
func (c *comparison) tasks() {
	if c.Blind {
		return // an unread process may be a task's process or shim
	}
	for _, k := range sorted(c.Known.Tasks) {
		t := c.Known.Tasks[k]
		shim, fs := c.server(k, t), fact.Facts{fact.Task: c.task(k)}
		isKnown := fs[fact.Task] != fact.TaskUnknown
		switch {
		case shim == nil && (c.remote(k) || isKnown): // the status is newer than the list of processes
		case shim == nil:
			fs[fact.Shim] = fact.None
			c.suspect(k, fs)
		case !isKnown && shim.Family()[fact.State] == fact.AStopped:
			fs[fact.State] = fact.AStopped
			s := c.ofProcess(k, shim, fs)
			s.Missing, s.Sure = []string{"response of its shim, which SIGSTOP has frozen"}, Certain
		case !isKnown:
			s := c.ofProcess(k, shim, fs)
			s.Missing, s.Sure = []string{"response of its shim"}, Likely
		case t.PID != 0 && c.byInner[t.PID] == nil && t.Status != fact.TaskStopped:
			fs[fact.Process] = fact.None
			s := c.ofProcess(k, shim, fs)
			s.Missing = []string{fmt.Sprintf("process %d, which containerd reports as %s", t.PID, t.Status)}
		}
	}
}

// remote reports whether a task's shim has no Unix socket. Such a shim may run in a
// virtual machine or on another host.
func (c *comparison) remote(k Key) bool {
	b := c.bundleOf[k]
	return b != nil && strings.Contains(b.Address, "://") && !strings.HasPrefix(b.Address, "unix://")
}
