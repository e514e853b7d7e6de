package oracle

import "strconv"

// Forgotten lists the processes of containers that containerd does not know: their
// container or task is gone, or containerd says that the task does not run. It returns
// [ErrNoDaemon] when containerd was not asked.
//
// Shims, helpers and zombies are not processes of a container. A process whose cgroup
// names no container is not judged here but by [Leaks].
func Forgotten(inv Inventory) ([]Finding, error) {
	if inv.Daemon == nil {
		return nil, ErrNoDaemon
	}
	var out []Finding
	for _, p := range inv.Processes {
		if p.Own || p.Shim != nil || p.Zombie() {
			continue
		}
		ns, id := inv.Owner(p)
		if id == "" {
			continue
		}
		why, forgotten := whyForgotten(inv.Daemon, ns, id)
		if !forgotten {
			continue
		}
		why[FactProgram] = program(p)
		out = append(out, Finding{
			Invariant: Forgot, Class: ClassProcess, Facts: why,
			Subject: Subject{Namespace: ns, ID: id, PID: p.PID, Start: p.Start, Path: p.Exe, Name: commandLine(p)},
		})
	}
	Sort(out)
	return out, nil
}

// whyForgotten reports whether containerd does not know that a container runs.
func whyForgotten(d *Daemon, ns, id string) (Facts, bool) {
	t, ok := d.task(ns, id)
	switch {
	case ok && (t.Status == TaskStopped || t.Status == taskUnknown):
		return Facts{FactTask: t.Status, FactTaskPID: strconv.Itoa(t.PID)}, true
	case ok:
		return Facts{}, false
	case d.container(ns, id):
		return Facts{FactTask: None, FactContainer: There}, true
	}
	return Facts{FactTask: None, FactContainer: None}, true
}
