package oracle

import (
	"fmt"
	"path"
	"slices"
	"strings"
)

// Leaks lists everything in after that was not in before, each with its reason. What is not a leak, and why:
//   - processes of the harness (Scene.Own) and kernel threads;
//   - the empty directory of a containerd namespace among the bundles, work directories and runc's states:
//     containerd and runc make it for the first container and keep it;
//   - the cgroup directory of a containerd namespace, as long as no process is in it itself: runc makes the parent
//     of /NAMESPACE/ID and removes only the leaf;
//   - committed snapshots: they are an image's layers and live as long as the image;
//   - the directory of shim sockets, and containerd's own sockets, which are not among shim sockets;
//   - empty directories of FIFOs: only the pipes count;
//   - what was in before already: a leak is reported by the case that caused it.
//
// Things that containerd knows (containers, tasks, snapshots, leases, sandboxes) are only judged when after has a
// Daemon; [Settle] refuses to call a scene clean without one.
func Leaks(before, after Inventory) []Finding {
	j := judge{before: before, after: after}
	var out []Finding
	for _, look := range []func() []Finding{
		j.processes, j.sockets, j.bundles, j.mounts, j.cgroups, j.files, j.daemon,
	} {
		out = append(out, look()...)
	}
	sortFindings(out)
	return out
}

// judge compares two inventories.
type judge struct{ before, after Inventory }

// fresh lists the members of after that before has not, by key, counting: of two alike in after one stays when
// before had one.
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

func (j judge) processes() []Finding {
	type key struct {
		pid   int
		start uint64
	}
	var out []Finding
	for _, p := range fresh(j.before.Processes, j.after.Processes, func(p Process) key { return key{p.PID, p.Start} }) {
		if p.Own {
			continue
		}
		f := Finding{Invariant: Leak, PID: p.PID, Path: p.Exe, Details: processDetails(p)}
		if p.Shim != nil {
			f.Class, f.Namespace, f.ID = ClassShim, p.Shim.Namespace, p.Shim.ID
			f.What = fmt.Sprintf("shim process %d (%s %s/%s)", p.PID, shimName(p.Argv), f.Namespace, f.ID)
			f.Reason = j.whyShim(p)
		} else {
			f.Class = ClassProcess
			f.Namespace, f.ID = owner(p, j.after)
			f.What = fmt.Sprintf("process %d (%s)", p.PID, commandLine(p))
			f.Reason = j.whyProcess(p, f.Namespace, f.ID)
		}
		out = append(out, f)
	}
	return out
}

func (j judge) sockets() []Finding {
	var out []Finding
	for _, s := range fresh(j.before.Sockets, j.after.Sockets, func(s Socket) string { return s.Path }) {
		f := Finding{Invariant: Leak, Class: ClassSocket, Path: s.Path, What: "shim socket " + s.Path, Details: map[string]string{}}
		f.Details["listening"] = fmt.Sprint(s.Listening)
		f.Reason = "socket file is there and nobody listens"
		if s.Listening {
			f.Reason = "socket still listening"
			if p, ok := j.socketHolder(s); ok {
				f.PID, f.Namespace, f.ID = p.PID, p.Shim.Namespace, p.Shim.ID
				f.Reason += fmt.Sprintf("; held by shim process %d of %s/%s", p.PID, f.Namespace, f.ID)
			}
		}
		if b, ok := j.socketBundle(s); ok {
			f.Namespace, f.ID = b.Namespace, b.ID
			f.Reason += fmt.Sprintf("; bundle %s/%s names it", b.Namespace, b.ID)
		} else if len(j.after.Bundles) == 0 {
			f.Reason += "; no bundle is left"
		}
		out = append(out, f)
	}
	return out
}

func (j judge) bundles() []Finding {
	var out []Finding
	for _, b := range fresh(j.before.Bundles, j.after.Bundles, func(b Bundle) string { return b.Path }) {
		f := Finding{Invariant: Leak, Class: ClassBundle, Namespace: b.Namespace, ID: b.ID, Path: b.Path}
		f.What, f.Details = "bundle "+b.Path, map[string]string{"address": b.Address}
		why := []string{j.whyTask(b.Namespace, b.ID)}
		switch {
		case b.Work:
			f.What = "work directory " + b.Path
			if _, ok := j.after.bundle(b.Namespace, b.ID); !ok {
				why = append(why, "its bundle is gone")
			}
		case b.Hidden:
			why = append(why, "hidden: containerd died inside its removal")
		}
		if p, ok := j.after.shim(b.Namespace, b.ID); ok {
			why = append(why, fmt.Sprintf("its shim %d lives", p.PID))
		} else {
			why = append(why, "no shim of that id")
		}
		f.Reason = strings.Join(why, "; ")
		out = append(out, f)
	}
	return out
}

func (j judge) mounts() []Finding {
	var out []Finding
	for _, m := range fresh(j.before.Mounts, j.after.Mounts, func(m Mount) Mount { return m }) {
		f := Finding{Invariant: Leak, Class: ClassMount, Path: m.Point}
		f.What = fmt.Sprintf("%s mount on %s", m.Type, m.Point)
		f.Details = map[string]string{"source": m.Source, "root": m.Root}
		f.Namespace, f.ID = mountOwner(m.Point)
		f.Reason = "not mounted before"
		if f.ID != "" {
			why := []string{fmt.Sprintf("still mounted for %s", path.Join(f.Namespace, f.ID)), j.whyTask(f.Namespace, f.ID)}
			if b, ok := j.after.bundle(f.Namespace, f.ID); !ok {
				why = append(why, "bundle gone")
			} else if b.Hidden {
				why = append(why, "bundle hidden")
			} else {
				why = append(why, "bundle still there")
			}
			f.Reason = strings.Join(why, "; ")
		}
		out = append(out, f)
	}
	return out
}

// cgroups gives one finding for a group, however many hierarchies (cgroup v1) have it.
func (j judge) cgroups() []Finding {
	known := j.namespaces()
	var order []string
	groups := map[string][]Cgroup{}
	for _, c := range fresh(j.before.Cgroups, j.after.Cgroups, func(c Cgroup) string { return c.Path }) {
		if c.Procs == 0 && slices.Contains(known, c.Rel) {
			continue // runc keeps the parent of /NAMESPACE/ID
		}
		if groups[c.Rel] == nil {
			order = append(order, c.Rel)
		}
		groups[c.Rel] = append(groups[c.Rel], c)
	}
	out := make([]Finding, 0, len(order))
	for _, rel := range order {
		out = append(out, j.cgroup(rel, groups[rel]))
	}
	return out
}

func (j judge) cgroup(rel string, in []Cgroup) Finding {
	procs, leaf := 0, true
	paths := make([]string, len(in))
	for i, c := range in {
		procs, leaf, paths[i] = max(procs, c.Procs), leaf && c.Leaf, c.Path
	}
	f := Finding{Invariant: Leak, Class: ClassCgroup, What: "cgroup " + in[0].Path, Path: in[0].Path, Reason: "empty"}
	switch {
	case procs > 0:
		f.Reason = fmt.Sprintf("holds %d processes", procs)
	case !leaf:
		f.Reason = "holds other groups"
	}
	if len(in) > 1 {
		f.What += fmt.Sprintf(" (and in %d more hierarchies)", len(in)-1)
		f.Details = map[string]string{"paths": strings.Join(paths, " ")}
	}
	if f.Namespace, f.ID = cgroupOwner(rel); f.ID != "" {
		f.Reason += "; " + j.whyTask("", f.ID)
	}
	return f
}

func (j judge) files() []Finding {
	var out []Finding
	for _, r := range fresh(j.before.RuncStates, j.after.RuncStates, func(r RuncState) string { return r.Path }) {
		f := Finding{Invariant: Leak, Class: ClassRuncState, Namespace: r.Namespace, ID: r.ID, Path: r.Path}
		f.What, f.Reason = "runc state "+r.Path, j.whyTask(r.Namespace, r.ID)
		out = append(out, f)
	}
	for _, d := range fresh(j.before.CRIDirs, j.after.CRIDirs, func(d Dir) string { return d.Path }) {
		f := Finding{Invariant: Leak, Class: ClassCRIDir, ID: d.ID, Path: d.Path}
		f.What, f.Reason = "CRI directory "+d.Path, j.whyTask("", d.ID)
		out = append(out, f)
	}
	for _, p := range fresh(j.before.FIFOs, j.after.FIFOs, func(p string) string { return p }) {
		out = append(out, Finding{Invariant: Leak, Class: ClassFIFO, What: "FIFO " + p, Path: p, Reason: "not removed"})
	}
	return out
}

// namespaces are all containerd namespaces that either inventory knows of.
func (j judge) namespaces() []string {
	var out []string
	for _, inv := range []Inventory{j.before, j.after} {
		if inv.Daemon != nil {
			out = append(out, inv.Daemon.Namespaces...)
		}
	}
	return out
}
