// Package compare answers: which differences between two inventories are wrong? [Leaks]
// lists the leftovers, [Missing] and [LostWhileRunning] the losses, [UnknownProcesses]
// the processes that containerd does not know. It has no I/O.
package compare

import (
	"slices"
	"strconv"

	"github.com/shimquake/shimquake/oracle/fact"
	"github.com/shimquake/shimquake/oracle/finding"
	"github.com/shimquake/shimquake/oracle/inventory"
	"github.com/shimquake/shimquake/oracle/scan"
)

// Leaks lists everything in after that was not in before, each with its reason. These are
// not leaks:
//   - processes of the harness (Scene.Own) and kernel threads;
//   - the empty directory of a containerd namespace among the bundles, work directories
//     and runc's states: the first container creates it, and it stays;
//   - the cgroup directory of a containerd namespace without processes of its own: runc
//     creates the parent of /NAMESPACE/ID and removes only the leaf;
//   - files of files.yaml's `may-appear`, each with its reason there;
//   - everything in before, because the case that caused such a leak has reported it.
//
// containerd's objects (containers, tasks, snapshots, ...) are compared only if after has
// a Daemon. [settle.Wait] requires one.
func Leaks(before, after inventory.Inventory) []finding.Finding {
	d := diff{before: before, after: after}
	var out []finding.Finding
	for _, find := range finders {
		out = append(out, find(d)...)
	}
	out = append(out, d.handles(out)...)
	out = append(out, d.unreported(out)...)
	finding.Sort(out)
	return out
}

// finders are the functions that list new objects, each of one class or of several.
var finders = []func(diff) []finding.Finding{
	diff.processes, diff.sockets, diff.bundles, diff.criDirs, diff.mounts, diff.cgroups, diff.runcStates, diff.fifos,
	diff.daemon, diff.networks,
}

func (d diff) processes() []finding.Finding {
	type key struct {
		pid   int
		start uint64
	}
	var out []finding.Finding
	for _, p := range fresh(d.before.Processes, d.after.Processes,
		func(p inventory.Process) key { return key{p.PID, p.Start} }) {
		if p.Own {
			continue
		}
		f := finding.Finding{Invariant: finding.Leak, Subject: finding.Subject{PID: p.PID, Start: p.Start, Path: p.Exe}}
		if p.Shim != nil {
			f.Class, f.Facts = finding.ClassShim, d.shim(p)
			f.Subject.Namespace, f.Subject.ID, f.Subject.Name = p.Shim.Namespace, p.Shim.ID, program(p)
		} else {
			ns, id := d.after.Owner(p)
			f.Class, f.Facts = finding.ClassProcess, d.process(p, id)
			f.Subject.Namespace, f.Subject.ID, f.Subject.Name = ns, id, commandLine(p)
		}
		out = append(out, f)
	}
	return out
}

func (d diff) bundles() []finding.Finding {
	var out []finding.Finding
	for _, b := range fresh(d.before.Bundles, d.after.Bundles, func(b inventory.Bundle) string { return b.Path }) {
		f := finding.Finding{Invariant: finding.Leak, Class: finding.ClassBundle,
			Subject: finding.Subject{Namespace: b.Namespace, ID: b.ID, Path: b.Path}}
		f.Facts = d.task(b.Namespace, b.ID)
		f.Facts[fact.Shim] = fact.None
		switch {
		case b.Work:
			f.Facts[fact.Kind] = fact.AWorkDir
			if _, ok := d.after.Bundle(b.Namespace, b.ID); !ok {
				f.Facts[fact.Bundle] = fact.Gone
			}
		case b.Hidden:
			f.Facts[fact.Bundle] = fact.Hidden
		}
		if p, ok := d.after.Shim(b.Namespace, b.ID); ok {
			f.Facts[fact.Shim], f.Facts[fact.ShimPID] = fact.Alive, strconv.Itoa(p.PID)
		}
		out = append(out, f)
	}
	return out
}

func (d diff) mounts() []finding.Finding {
	var out []finding.Finding
	for _, m := range fresh(d.before.Mounts, d.after.Mounts, func(m inventory.Mount) inventory.Mount {
		m.Device = "" // a new mount of the same thing is not fresh
		return m
	}) {
		f := finding.Finding{Invariant: finding.Leak, Class: finding.ClassMount, Subject: finding.Subject{Path: m.Point}}
		f.Subject.Namespace, f.Subject.ID = scan.MountOwner(m.Point)
		if f.Subject.ID != "" {
			f.Facts = d.task(f.Subject.Namespace, f.Subject.ID).With(d.bundle(f.Subject.Namespace, f.Subject.ID))
		} else if pod := d.podOf(m.Point); pod != "" {
			f.Subject.ID, f.Facts = pod, d.task("", pod)
		}
		f.Facts[fact.MountType] = m.Type
		out = append(out, f)
	}
	return out
}

// cgroups returns one finding for a cgroup, also if several hierarchies (cgroup v1) have
// it.
func (d diff) cgroups() []finding.Finding {
	known := d.namespaces()
	left := fresh(d.before.Cgroups, d.after.Cgroups, func(c inventory.Cgroup) string { return c.Path })
	left = slices.DeleteFunc(left, func(c inventory.Cgroup) bool {
		return c.Procs == 0 && slices.Contains(known, c.Rel) // runc keeps the parent of /NAMESPACE/ID
	})
	var out []finding.Finding
	for _, in := range byRel(left) {
		out = append(out, d.cgroup(in))
	}
	return out
}

func (d diff) cgroup(in []inventory.Cgroup) finding.Finding {
	procs, leaf := 0, true
	for _, c := range in {
		procs, leaf = max(procs, c.Procs), leaf && c.Leaf
	}
	f := finding.Finding{Invariant: finding.Leak, Class: finding.ClassCgroup, Subject: finding.Subject{Path: in[0].Path}}
	f.Subject.Namespace, f.Subject.ID = in[0].Owner()
	f.Facts = hierarchies(in)
	if f.Subject.ID != "" {
		f.Facts = f.Facts.With(d.task("", f.Subject.ID))
	}
	switch {
	case procs > 0:
		f.Facts[fact.Procs], f.Facts[fact.Count] = fact.Some, strconv.Itoa(procs)
	case !leaf:
		f.Facts[fact.Groups] = fact.Nested
	default:
		f.Facts[fact.Procs] = fact.None
	}
	return f
}

func (d diff) runcStates() (out []finding.Finding) {
	for _, r := range fresh(d.before.RuncStates, d.after.RuncStates,
		func(r inventory.RuncState) string { return r.Path }) {
		at := finding.Subject{Namespace: r.Namespace, ID: r.ID, Path: r.Path}
		out = append(out, finding.Finding{Invariant: finding.Leak, Class: finding.ClassRuncState, Subject: at,
			Facts: d.task(r.Namespace, r.ID)})
	}
	return out
}

func (d diff) criDirs() (out []finding.Finding) {
	for _, c := range fresh(d.before.CRIDirs, d.after.CRIDirs, func(c inventory.Dir) string { return c.Path }) {
		at := finding.Subject{ID: c.ID, Path: c.Path}
		out = append(out, finding.Finding{Invariant: finding.Leak, Class: finding.ClassCRIDir, Subject: at,
			Facts: d.task("", c.ID)})
	}
	return out
}

// namespaces returns all containerd namespaces in the two inventories.
func (d diff) namespaces() []string {
	var out []string
	for _, inv := range []inventory.Inventory{d.before, d.after} {
		if inv.Daemon != nil {
			out = append(out, inv.Daemon.Namespaces...)
		}
	}
	return out
}
