package oracle

import (
	"slices"
	"strconv"

	"github.com/shimquake/shimquake/oracle/scan"
)

// Leaks lists everything in after that was not in before, each with its reason. What is
// not a leak, and why:
//   - processes of the harness (Scene.Own) and kernel threads;
//   - the empty directory of a containerd namespace among the bundles, work directories
//     and runc's states: containerd and runc make it for the first container and keep it;
//   - the cgroup directory of a containerd namespace, as long as no process is in it
//     itself: runc makes the parent of /NAMESPACE/ID and removes only the leaf;
//   - files of files.yaml's `may-appear`, each with its reason there;
//   - what was in before already: a leak is reported by the case that caused it.
//
// Things that containerd knows (containers, tasks, snapshots, ...) are only judged when
// after has a Daemon; [Settle] refuses to call a scene clean without one.
func Leaks(before, after Inventory) []Finding {
	d := diff{before: before, after: after}
	var out []Finding
	for _, c := range leakClasses {
		if c.find != nil {
			out = append(out, c.find(d)...)
		}
	}
	out = append(out, d.handles(out)...)
	out = append(out, d.unreported(out)...)
	Sort(out)
	return out
}

// diff is the difference between two inventories.
type diff struct{ before, after Inventory }

// fresh lists the members of after that before has not, by key, counting: of two alike in
// after one stays when before had one.
func fresh[T any, K comparable](before, after []T, key func(T) K) []T {
	had := make(map[K]int, len(before))
	for _, x := range before {
		had[key(x)]++
	}
	var out []T
	for _, x := range after {
		if k := key(x); had[k] > 0 {
			had[k]--
			continue
		}
		out = append(out, x)
	}
	return out
}

func (d diff) processes() []Finding {
	type key struct {
		pid   int
		start uint64
	}
	var out []Finding
	for _, p := range fresh(d.before.Processes, d.after.Processes, func(p Process) key { return key{p.PID, p.Start} }) {
		if p.Own {
			continue
		}
		f := Finding{Invariant: Leak, Subject: Subject{PID: p.PID, Start: p.Start, Path: p.Exe}}
		if p.Shim != nil {
			f.Class, f.Facts = ClassShim, d.shim(p)
			f.Subject.Namespace, f.Subject.ID, f.Subject.Name = p.Shim.Namespace, p.Shim.ID, shimName(p.Argv)
		} else {
			ns, id := d.after.Owner(p)
			f.Class, f.Facts = ClassProcess, d.process(p, id)
			f.Subject.Namespace, f.Subject.ID, f.Subject.Name = ns, id, commandLine(p)
		}
		out = append(out, f)
	}
	return out
}

func (d diff) sockets() []Finding {
	var out []Finding
	for _, s := range fresh(d.before.Sockets, d.after.Sockets, func(s Socket) string { return s.Path }) {
		f := Finding{Invariant: Leak, Class: ClassSocket, Subject: Subject{Path: s.Path}, Facts: Facts{FactSocket: Silent}}
		if s.Listening {
			f.Facts[FactSocket] = Listening
			if p, ok := d.socketHolder(s); ok {
				f.Facts[FactHolder] = ByShim
				f.Subject.PID, f.Subject.Namespace, f.Subject.ID = p.PID, p.Shim.Namespace, p.Shim.ID
			}
		}
		if b, ok := d.socketBundle(s); ok {
			f.Facts[FactBundle] = Named
			f.Subject.Namespace, f.Subject.ID = b.Namespace, b.ID
		} else if len(d.after.Bundles) == 0 {
			f.Facts[FactBundle] = NoneLeft
		}
		out = append(out, f)
	}
	return out
}

func (d diff) bundles() []Finding {
	var out []Finding
	for _, b := range fresh(d.before.Bundles, d.after.Bundles, func(b Bundle) string { return b.Path }) {
		f := Finding{Invariant: Leak, Class: ClassBundle, Subject: Subject{Namespace: b.Namespace, ID: b.ID, Path: b.Path}}
		f.Facts = d.task(b.Namespace, b.ID)
		f.Facts[FactShim] = None
		switch {
		case b.Work:
			f.Facts[FactKind] = AWorkDir
			if _, ok := d.after.bundle(b.Namespace, b.ID); !ok {
				f.Facts[FactBundle] = Gone
			}
		case b.Hidden:
			f.Facts[FactBundle] = Hidden
		}
		if p, ok := d.after.shim(b.Namespace, b.ID); ok {
			f.Facts[FactShim], f.Facts[FactShimPID] = Alive, strconv.Itoa(p.PID)
		}
		out = append(out, f)
	}
	return out
}

func (d diff) mounts() []Finding {
	var out []Finding
	for _, m := range fresh(d.before.Mounts, d.after.Mounts, func(m Mount) Mount { return m }) {
		f := Finding{Invariant: Leak, Class: ClassMount, Subject: Subject{Path: m.Point}}
		f.Subject.Namespace, f.Subject.ID = scan.MountOwner(m.Point)
		if f.Subject.ID != "" {
			f.Facts = d.task(f.Subject.Namespace, f.Subject.ID).With(d.bundle(f.Subject.Namespace, f.Subject.ID))
		} else if pod := d.podOf(m.Point); pod != "" {
			f.Subject.ID, f.Facts = pod, d.task("", pod)
		}
		f.Facts[FactMountType] = m.Type
		out = append(out, f)
	}
	return out
}

// cgroups gives one finding for a group, however many hierarchies (cgroup v1) have it.
func (d diff) cgroups() []Finding {
	known := d.namespaces()
	left := fresh(d.before.Cgroups, d.after.Cgroups, func(c Cgroup) string { return c.Path })
	left = slices.DeleteFunc(left, func(c Cgroup) bool {
		return c.Procs == 0 && slices.Contains(known, c.Rel) // runc keeps the parent of /NAMESPACE/ID
	})
	var out []Finding
	for _, in := range byRel(left) {
		out = append(out, d.cgroup(in))
	}
	return out
}

func (d diff) cgroup(in []Cgroup) Finding {
	procs, leaf := 0, true
	for _, c := range in {
		procs, leaf = max(procs, c.Procs), leaf && c.Leaf
	}
	f := Finding{Invariant: Leak, Class: ClassCgroup, Subject: Subject{Path: in[0].Path}}
	f.Subject.Namespace, f.Subject.ID = in[0].Owner()
	f.Facts = hierarchies(in)
	if f.Subject.ID != "" {
		f.Facts = f.Facts.With(d.task("", f.Subject.ID))
	}
	switch {
	case procs > 0:
		f.Facts[FactProcs], f.Facts[FactCount] = Some, strconv.Itoa(procs)
	case !leaf:
		f.Facts[FactGroups] = Nested
	default:
		f.Facts[FactProcs] = None
	}
	return f
}

func (d diff) runcStates() (out []Finding) {
	for _, r := range fresh(d.before.RuncStates, d.after.RuncStates, func(r RuncState) string { return r.Path }) {
		at := Subject{Namespace: r.Namespace, ID: r.ID, Path: r.Path}
		out = append(out, Finding{Invariant: Leak, Class: ClassRuncState, Subject: at, Facts: d.task(r.Namespace, r.ID)})
	}
	return out
}

func (d diff) criDirs() (out []Finding) {
	for _, c := range fresh(d.before.CRIDirs, d.after.CRIDirs, func(c Dir) string { return c.Path }) {
		at := Subject{ID: c.ID, Path: c.Path}
		out = append(out, Finding{Invariant: Leak, Class: ClassCRIDir, Subject: at, Facts: d.task("", c.ID)})
	}
	return out
}

// namespaces are all containerd namespaces that either inventory knows of.
func (d diff) namespaces() []string {
	var out []string
	for _, inv := range []Inventory{d.before, d.after} {
		if inv.Daemon != nil {
			out = append(out, inv.Daemon.Namespaces...)
		}
	}
	return out
}
