package oracle

import (
	"fmt"
	"slices"
	"strings"
)

// whyTask says what containerd knows of a task of that id.
func (j judge) whyTask(ns, id string) string {
	if j.after.Daemon == nil {
		return "containerd was not asked for its task"
	}
	if t, ok := j.after.Daemon.task(ns, id); ok {
		return fmt.Sprintf("containerd has its task: %s, pid %d", t.Status, t.PID)
	}
	return "no task of that id in containerd"
}

func (j judge) whyShim(p Process) string {
	why := []string{j.whyTask(p.Shim.Namespace, p.Shim.ID)}
	if p.Shim.Action != "" {
		why = append(why, fmt.Sprintf("a %q helper that did not end", p.Shim.Action))
	}
	if _, ok := j.after.bundle(p.Shim.Namespace, p.Shim.ID); ok {
		why = append(why, "bundle still there")
	} else {
		why = append(why, "bundle gone")
	}
	listens := slices.ContainsFunc(j.after.Sockets, func(s Socket) bool {
		return s.Listening && slices.Contains(p.SocketInodes, s.Inode)
	})
	if listens {
		why = append(why, "socket still listening")
	} else {
		why = append(why, "no socket")
	}
	return strings.Join(append(why, whyFamily(p)...), "; ")
}

func (j judge) whyProcess(p Process, ns, id string) string {
	var why []string
	if id != "" {
		why = append(why, fmt.Sprintf("of container %s", strings.TrimPrefix(ns+"/"+id, "/")), j.whyTask("", id))
	} else {
		why = append(why, "belongs to no container that is known")
	}
	if parent, ok := j.after.process(p.Parent); ok && parent.Shim != nil {
		why = append(why, fmt.Sprintf("child of shim %d", p.Parent))
	} else if p.Parent == 1 {
		why = append(why, "orphan: its parent is init")
	} else {
		why = append(why, fmt.Sprintf("child of process %d", p.Parent))
	}
	return strings.Join(append(why, whyFamily(p)...), "; ")
}

// whyFamily tells of a process's children and of a state that keeps it from ending.
func whyFamily(p Process) []string {
	var why []string
	switch p.State {
	case "Z", "X":
		why = append(why, fmt.Sprintf("zombie: process %d has not reaped it", p.Parent))
	case "T", "t":
		why = append(why, "stopped")
	case "D":
		why = append(why, "in uninterruptible sleep")
	}
	if len(p.Children) == 0 {
		return append(why, "no children")
	}
	return append(why, "children "+strings.Trim(fmt.Sprint(p.Children), "[]"))
}

func (j judge) socketHolder(s Socket) (Process, bool) {
	i := slices.IndexFunc(j.after.Processes, func(p Process) bool { return slices.Contains(p.SocketInodes, s.Inode) })
	if i < 0 || s.Inode == 0 {
		return Process{}, false
	}
	return j.after.Processes[i], true
}

func (j judge) socketBundle(s Socket) (Bundle, bool) {
	name := strings.TrimPrefix(s.Path, "@")
	i := slices.IndexFunc(j.after.Bundles, func(b Bundle) bool {
		return b.Path == s.Beside && s.Beside != "" || b.Address != "" && strings.HasSuffix(b.Address, name)
	})
	if i < 0 {
		return Bundle{}, false
	}
	return j.after.Bundles[i], true
}

func commandLine(p Process) string {
	if len(p.Argv) == 0 {
		return p.Comm
	}
	const most = 120 // runes are of no matter: it is cut for reading
	line := strings.Join(p.Argv, " ")
	if len(line) > most {
		line = strings.ToValidUTF8(line[:most], "") + "..."
	}
	return line
}

func processDetails(p Process) map[string]string {
	return map[string]string{
		"argv": strings.Join(p.Argv, " "), "state": p.State, "cgroup": p.Cgroup,
		"parent": fmt.Sprint(p.Parent), "start": fmt.Sprint(p.Start),
	}
}
