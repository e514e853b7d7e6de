package compare

import (
	"strconv"

	"github.com/shimquake/shimquake/oracle/fact"
	"github.com/shimquake/shimquake/oracle/finding"
	"github.com/shimquake/shimquake/oracle/inventory"
)

// UnknownProcesses lists the running processes of containers that containerd does not
// know as running. containerd has no container or no task for them, or reports the task
// as STOPPED or UNKNOWN. It returns [inventory.ErrNoDaemon] if containerd was not
// asked.
//
// It leaves out shims, helpers and zombies. If the cgroup of a process names no
// container, [Leaks] judges the process instead.
func UnknownProcesses(inv inventory.Inventory) ([]finding.Finding, error) {
	if inv.Daemon == nil {
		return nil, inventory.ErrNoDaemon
	}
	var out []finding.Finding
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
		why[fact.Program] = program(p)
		out = append(out, finding.Finding{
			Invariant: finding.Forgot, Class: finding.ClassProcess, Facts: why,
			Subject: finding.Subject{Namespace: ns, ID: id, PID: p.PID, Start: p.Start, Path: p.Exe, Name: commandLine(p)},
		})
	}
	finding.Sort(out)
	return out, nil
}

// whyForgotten reports whether containerd does not know that a container runs, and
// returns the facts.
func whyForgotten(d *inventory.Daemon, ns, id string) (fact.Facts, bool) {
	t, ok := d.Task(ns, id)
	switch {
	case ok && (t.Status == fact.TaskStopped || t.Status == fact.TaskUnknown):
		return fact.Facts{fact.Task: t.Status, fact.TaskPID: strconv.Itoa(t.PID)}, true
	case ok:
		return fact.Facts{}, false
	case d.HasContainer(ns, id):
		return fact.Facts{fact.Task: fact.None, fact.Container: fact.There}, true
	}
	return fact.Facts{fact.Task: fact.None, fact.Container: fact.None}, true
}
