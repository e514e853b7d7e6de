package oracle

import "fmt"

// Forgotten lists the processes of containers that containerd does not know: their container or task is gone, or
// containerd says that the task does not run. It returns [ErrNoDaemon] when containerd was not asked.
//
// Shims, helpers and zombies are not processes of a container. A process whose cgroup names no container is not judged
// here but by [Leaks].
func Forgotten(inv Inventory) ([]Finding, error) {
	if inv.Daemon == nil {
		return nil, ErrNoDaemon
	}
	var out []Finding
	for _, p := range inv.Processes {
		if p.Own || p.Shim != nil || p.Zombie() {
			continue
		}
		ns, id := owner(p, inv)
		if id == "" {
			continue
		}
		reason := whyForgotten(inv.Daemon, ns, id)
		if reason == "" {
			continue
		}
		out = append(out, Finding{
			Invariant: Forgot, Class: ClassProcess, Namespace: ns, ID: id, PID: p.PID, Path: p.Exe,
			What:   fmt.Sprintf("process %d (%s) of container %s/%s", p.PID, commandLine(p), ns, id),
			Reason: reason, Details: processDetails(p),
		})
	}
	sortFindings(out)
	return out, nil
}

func whyForgotten(d *Daemon, ns, id string) string {
	t, ok := d.task(ns, id)
	switch {
	case ok && (t.Status == "STOPPED" || t.Status == "UNKNOWN"):
		return fmt.Sprintf("it runs; containerd says that its task is %s (pid %d)", t.Status, t.PID)
	case ok:
		return ""
	case d.container(ns, id):
		return "it runs; containerd knows the container but no task of it"
	default:
		return "it runs; containerd knows neither a container nor a task of that id"
	}
}
