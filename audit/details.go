package audit

import (
	"io/fs"
	"slices"
	"time"
)

// changed returns the time of a file's last change, or zero if the file is gone.
func changed(info fs.FileInfo) time.Time {
	if info == nil {
		return time.Time{}
	}
	return info.ModTime()
}

// details reads more about the objects without a task: their age, the processes of a
// cgroup, and the init of a container. A healthy node has few such objects. It does not
// access mounts, because their file systems may hang.
func (w *viewing) details() error {
	t, v := w.tree, w.View
	ids := map[string]bool{}
	for k := range v.Known.Tasks {
		ids[k.ID] = true
	}
	for i, b := range v.Bundles {
		if !ids[b.ID] {
			v.Bundles[i].Changed = changed(t.Stat(b.Path))
		}
	}
	for i, s := range v.Sockets {
		if !s.Listening {
			v.Sockets[i].Changed = changed(t.Stat(s.Path))
		}
	}
	for i, s := range v.RuncStates {
		if task, ok := v.Known.Tasks[Key{s.Namespace, s.ID}]; !ok || task.Status == stopped {
			v.RuncStates[i].Changed = changed(t.Stat(s.Path))
			v.RuncStates[i].PID, v.RuncStates[i].Start = runcInit(t, s.Path)
		}
	}
	for i, c := range v.Cgroups {
		if ids[c.Key.ID] {
			continue
		}
		procs := procsIn(t, c.Path, cgroupDepth)
		slices.Sort(procs)
		v.Cgroups[i].Procs = slices.Compact(procs)
	}
	return nil
}
