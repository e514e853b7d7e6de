package oracle

import "slices"

// Vanished lists what was in before and is not in after: nobody who removes his own
// containers removes an image, what others have mounted, or a directory of containerd's.
func Vanished(before, after Inventory) (out []Finding) {
	add := func(class Class, s Subject, fs Facts) {
		out = append(out, Finding{Invariant: Loss, Class: class, Subject: s, Facts: fs})
	}
	for _, f := range missing(before.Files, after.Files, func(f File) string { return f.Path }) {
		found := OfFile(f, before.Places)
		if !slices.ContainsFunc(out, func(o Finding) bool { return below(map[string]bool{o.Subject.Path: true}, f.Path) }) {
			add(found.Class, found.Subject, found.Facts)
		}
	}
	for _, m := range missing(before.Mounts, after.Mounts, func(m Mount) string { return m.Point }) {
		add(ClassMount, Subject{Path: m.Point}, Facts{FactMountType: m.Type})
	}
	for _, in := range byRel(missing(before.Cgroups, after.Cgroups, func(c Cgroup) string { return c.Path })) {
		add(ClassCgroup, Subject{Path: in[0].Path}, hierarchies(in))
	}
	was, is := before.Daemon, after.Daemon
	if was == nil || is == nil {
		return out
	}
	for _, s := range missing(was.Snapshots, is.Snapshots, func(s Snapshot) Snapshot { return s }) {
		fs := Facts{}
		if s.Committed {
			fs[FactKind] = Committed
		}
		add(ClassSnapshot, Subject{Namespace: s.Namespace, ID: s.Key}, fs)
	}
	for _, r := range missing(was.Records, is.Records, func(r Record) Record { return r }) {
		add(ClassMetadata, Subject{Namespace: r.Namespace, ID: r.Name}, Facts{FactKind: r.Kind})
	}
	return out
}

// missing lists the members of before whose key after has not.
func missing[T any, K comparable](before, after []T, key func(T) K) []T {
	return fresh(after, before, key)
}
