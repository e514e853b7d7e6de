package compare

import (
	"path"
	"slices"

	"github.com/shimquake/shimquake/oracle/fact"
	"github.com/shimquake/shimquake/oracle/finding"
	"github.com/shimquake/shimquake/oracle/inventory"
)

// LostWhileRunning lists the files and mounts that containers and pods lost while they
// ran. It reports a missing directory once, without its files. The size of a file may
// change, because CRI stores data about a running container, and another release stores
// less. But a file with data must not become empty.
func LostWhileRunning(was, is inventory.Belongings, places inventory.Places) (out []finding.Finding) {
	gone := map[string]bool{}
	for _, b := range was.Have {
		if !slices.Contains(is.Of, b.ID) || kept(is, b) || below(gone, path.Dir(b.Path)) {
			continue
		}
		f := OfFile(b.File, places)
		if b.Mount != "" {
			f = finding.Finding{Class: finding.ClassMount, Subject: finding.Subject{Path: b.Path},
				Facts: fact.Facts{fact.MountType: b.Mount}}
		} else {
			gone[b.Path] = true
		}
		f.Invariant, f.Subject.ID, f.Facts[fact.In] = finding.Loss, b.ID, fact.FromRunning
		out = append(out, f)
	}
	return out
}

// kept reports whether a file or mount still exists, and has not become empty.
func kept(b inventory.Belongings, was inventory.Belonging) bool {
	return slices.ContainsFunc(b.Have, func(is inventory.Belonging) bool {
		emptied := was.Size > 0 && is.Size == 0
		is.Size = was.Size
		return !emptied && is == was
	})
}

// Missing lists everything in before that is not in after. A client that removes its own
// containers must not remove images, other mounts or directories of containerd.
func Missing(before, after inventory.Inventory) (out []finding.Finding) {
	add := func(class finding.Class, s finding.Subject, fs fact.Facts) {
		out = append(out, finding.Finding{Invariant: finding.Loss, Class: class, Subject: s, Facts: fs})
	}
	for _, f := range missing(before.Files, after.Files, func(f inventory.File) string { return f.Path }) {
		found := OfFile(f, before.Places)
		if !slices.ContainsFunc(out, func(o finding.Finding) bool {
			return below(map[string]bool{o.Subject.Path: true},
				f.Path)
		}) {
			add(found.Class, found.Subject, found.Facts)
		}
	}
	for _, m := range missing(before.Mounts, after.Mounts, func(m inventory.Mount) string { return m.Point }) {
		add(finding.ClassMount, finding.Subject{Path: m.Point}, fact.Facts{fact.MountType: m.Type})
	}
	for _, in := range byRel(missing(before.Cgroups, after.Cgroups, func(c inventory.Cgroup) string { return c.Path })) {
		add(finding.ClassCgroup, finding.Subject{Path: in[0].Path}, hierarchies(in))
	}
	was, is := before.Daemon, after.Daemon
	if was == nil || is == nil {
		return out
	}
	for _, s := range missing(was.Snapshots, is.Snapshots, func(s inventory.Snapshot) inventory.Snapshot { return s }) {
		fs := fact.Facts{}
		if s.Committed {
			fs[fact.Kind] = fact.Committed
		}
		add(finding.ClassSnapshot, finding.Subject{Namespace: s.Namespace, ID: s.Key}, fs)
	}
	for _, r := range missing(was.Records, is.Records, func(r inventory.Record) inventory.Record { return r }) {
		add(finding.ClassMetadata, finding.Subject{Namespace: r.Namespace, ID: r.Name}, fact.Facts{fact.Kind: r.Kind})
	}
	return out
}
