package audit

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// TaskKind is a task with a wrong status.
const TaskKind Kind = "task"

var lostTaskKind = kind{
	name: TaskKind,
	find: (*comparison).tasks,
	do: func(s Suspect) string {
		switch {
		case s.has("state=stopped"):
			return fmt.Sprintf("find out which process sent SIGSTOP to the shim, then kill -CONT %d", s.PID)
		case s.has("task=UNKNOWN") && s.PID != 0:
			return fmt.Sprintf("read /proc/%d/stack and the shim's log in containerd's journal; do not restart containerd now:"+
				" it would treat a shim that does not respond as dead", s.PID)
		}
		return fmt.Sprintf("ctr -n %s task delete --force %s, or remove the pod: containerd then cleans up",
			s.Namespace, s.ID)
	},
}

func itoa(n int) string { return strconv.Itoa(n) }

// sorted returns the sorted keys of a map, so that the rows of a report have a fixed
// order.
func sorted[T any](m map[Key]T) []Key {
	return slices.SortedFunc(maps.Keys(m), func(a, b Key) int {
		return cmp.Or(strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.ID, b.ID))
	})
}

// tasks returns the tasks with a wrong status. Such a task is running without a process,
// or it has no shim, or its shim does not respond.
func (c *comparison) tasks() []Suspect {
	var out []Suspect
	if c.Blind {
		return nil // an unread process may be a task's process or shim
	}
	for _, k := range sorted(c.Known.Tasks) {
		t := c.Known.Tasks[k]
		s := c.suspect(TaskKind, k)
		shim := c.server(k, t)
		s.Facts = facts("task", c.task(k))
		switch {
		case shim != nil && (t.Status == NoAnswer || t.Status == unknown):
			s.PID, s.Start, s.Age, s.Sure = shim.PID, shim.Start, shim.Age, Likely
			s.Missing = []string{"response of its shim"}
			if shim.Stopped() {
				s.Missing, s.Sure = []string{"response of its shim, which SIGSTOP has frozen"}, Certain
				s.Facts = append(s.Facts, "state=stopped")
			}
		case shim == nil && (c.remote(k) || t.Status != NoAnswer && t.Status != unknown):
			continue // the status is newer than the list of processes
		case shim == nil:
			s.Facts = append(s.Facts, "shim=none")
			s.Missing = []string{"shim"}
		case t.PID != 0 && c.byInner[t.PID] == nil && t.Status != stopped && t.Status != unknown:
			s.PID, s.Start, s.Age = shim.PID, shim.Start, shim.Age
			s.Facts = append(s.Facts, "process=none")
			s.Missing = []string{"process " + itoa(t.PID) + ", which containerd reports as " + t.Status}
		default:
			continue
		}
		out = append(out, s)
	}
	return out
}

// remote reports whether a task's shim has no Unix socket. Such a shim may run in a
// virtual machine or on another host.
func (c *comparison) remote(k Key) bool {
	b := c.bundleOf[k]
	return b != nil && strings.Contains(b.Address, "://") && !strings.HasPrefix(b.Address, "unix://")
}
