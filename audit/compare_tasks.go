package audit

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
)

func itoa(n int) string { return strconv.Itoa(n) }

// sorted are the keys of a map in order: rows come alike each time.
func sorted[T any](m map[Key]T) []Key {
	out := make([]Key, 0, len(m))
	for k := range m {
		out = append(out, k)
	}
	slices.SortFunc(out, func(a, b Key) int {
		return cmp.Or(strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.ID, b.ID))
	})
	return out
}

// tasks are those of which containerd says what is not so: they run without a process,
// have no shim, or a shim that does not answer.
func (c *comparison) tasks() []Suspect {
	var out []Suspect
	for _, k := range sorted(c.Known.Tasks) {
		t := c.Known.Tasks[k]
		s := c.suspect(LostTask, k)
		shim := c.server(k, t)
		s.Facts = facts("task", c.task(k))
		switch {
		case shim != nil && (t.Status == NoAnswer || t.Status == unknown):
			s.PID, s.Start, s.Age, s.Sure = shim.PID, shim.Start, shim.Age, Likely
			s.Missing = []string{"answer of its shim"}
			if shim.Stopped() {
				s.Missing, s.Sure = []string{"answer of its shim: a signal has stopped it"}, Certain
				s.Facts = append(s.Facts, "state=stopped")
			}
		case shim == nil && (c.remote(k) || t.Status != NoAnswer && t.Status != unknown):
			continue // a shim has just told its status: it is younger than the list of processes
		case shim == nil:
			s.Facts = append(s.Facts, "shim=none")
			s.Missing = []string{"shim"}
		case t.PID != 0 && c.byInner[t.PID] == nil && t.Status != stopped && t.Status != unknown:
			s.PID, s.Start, s.Age = shim.PID, shim.Start, shim.Age
			s.Facts = append(s.Facts, "process=none")
			s.Missing = []string{"process " + itoa(t.PID) + ", which containerd says is " + t.Status}
		default:
			continue
		}
		out = append(out, s)
	}
	return out
}

// remote reports whether a task's shim is reached otherwise than by a unix socket: in a
// virtual machine, on another host.
func (c *comparison) remote(k Key) bool {
	b := c.bundleOf[k]
	return b != nil && strings.Contains(b.Address, "://") && !strings.HasPrefix(b.Address, "unix://")
}

// inCRI are the containers that CRI and containerd do not agree on.
func (c *comparison) inCRI() []Suspect {
	if c.Known.Pods == nil || !c.Complete {
		return nil
	}
	var out []Suspect
	for _, k := range sorted(c.Known.Containers) {
		kind := c.Known.Containers[k].Kind
		_, pod := c.Known.Pods[k.ID]
		_, container := c.Known.CRIContainers[k.ID]
		if kind == "" || pod || container {
			continue
		}
		s := c.suspect(InCRI, k)
		s.Age = c.Known.Containers[k].Age
		s.Facts = facts("task", c.task(k), "listed", "not-by-cri")
		s.Missing = []string{"CRI's record of the " + kind}
		out = append(out, s)
	}
	const ns = "k8s.io"
	for _, id := range sortedWords(c.Known.CRIContainers) {
		k := Key{ns, id}
		if _, ok := c.Known.Tasks[k]; ok || c.Known.CRIContainers[id] != "CONTAINER_RUNNING" {
			continue
		}
		s := c.suspect(InCRI, k)
		s.Facts = facts("task", none)
		s.Missing = []string{"task: CRI says that it is running"}
		out = append(out, s)
	}
	return out
}

func sortedWords(m map[string]string) []string {
	out := make([]string, 0, len(m))
	for k := range m {
		out = append(out, k)
	}
	slices.Sort(out)
	return out
}
