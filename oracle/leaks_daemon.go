package oracle

import (
	"slices"
	"strconv"
	"time"
)

// daemon lists what containerd still knows and did not know before.
func (d diff) daemon() []Finding {
	if d.after.Daemon == nil {
		return nil
	}
	was, is := d.before.Daemon, d.after.Daemon
	if was == nil {
		was = &Daemon{} // containerd was not asked before: all that it knows now counts
	}
	var out []Finding
	add := func(class Class, ns, id string, fs Facts) {
		out = append(out, Finding{Invariant: Leak, Class: class, Subject: Subject{Namespace: ns, ID: id}, Facts: fs})
	}
	ref := func(r Ref) Ref { return r }
	for _, r := range fresh(was.Containers, is.Containers, ref) {
		add(ClassContainer, r.Namespace, r.ID, d.task(r.Namespace, r.ID))
	}
	for _, t := range fresh(was.Tasks, is.Tasks, func(t Task) Ref { return Ref{t.Namespace, t.ID} }) {
		fs := Facts{FactTask: t.Status, FactTaskPID: strconv.Itoa(t.PID)}
		if _, ok := d.after.process(t.PID); !ok && d.after.Processes != nil {
			fs[FactProcess] = None
		}
		add(ClassTask, t.Namespace, t.ID, fs)
	}
	for _, s := range fresh(was.Snapshots, is.Snapshots, func(s Snapshot) Snapshot { return s }) {
		add(ClassSnapshot, s.Namespace, s.Key, is.snapshot(s))
	}
	for _, r := range fresh(was.Leases, is.Leases, ref) {
		var fs Facts
		if l, expires := is.expiring(func(l ExpiringLease) bool { return l.Ref == r }); expires {
			fs = Facts{FactExpires: Yes, FactAt: l.Expires.Format(time.RFC3339)}
		}
		add(ClassLease, r.Namespace, r.ID, fs)
	}
	for _, r := range fresh(was.Sandboxes, is.Sandboxes, ref) {
		add(ClassSandbox, r.Namespace, r.ID, d.task(r.Namespace, r.ID))
	}
	for _, r := range freshRecords(was, is) {
		add(ClassMetadata, r.Namespace, r.Name, Facts{FactKind: r.Kind})
	}
	return out
}

// snapshot are the facts of what keeps a snapshot.
func (d *Daemon) snapshot(s Snapshot) Facts {
	if s.Committed {
		return Facts{FactKind: Committed}
	}
	if d.container(s.Namespace, s.Key) {
		return Facts{FactContainer: There}
	}
	l, expires := d.expiring(func(l ExpiringLease) bool { return slices.Contains(l.Snapshots, s) })
	if expires {
		return Facts{FactContainer: None, FactLease: Expiring, FactExpires: Yes, FactLeaseID: l.ID}
	}
	return Facts{FactContainer: None}
}
