package compare

import (
	"slices"
	"strconv"
	"time"

	"github.com/shimquake/shimquake/oracle/fact"
	"github.com/shimquake/shimquake/oracle/finding"
	"github.com/shimquake/shimquake/oracle/inventory"
)

// daemon lists the objects that containerd knows now and did not know before.
func (d diff) daemon() []finding.Finding {
	if d.after.Daemon == nil {
		return nil
	}
	was, is := d.before.Daemon, d.after.Daemon
	if was == nil {
		was = &inventory.Daemon{} // containerd was not asked before: all its objects count
	}
	var out []finding.Finding
	add := func(class finding.Class, ns, id string, fs fact.Facts) {
		out = append(out, finding.Finding{Invariant: finding.Leak, Class: class,
			Subject: finding.Subject{Namespace: ns, ID: id}, Facts: fs})
	}
	ref := func(r inventory.Ref) inventory.Ref { return r }
	for _, r := range fresh(was.Containers, is.Containers, ref) {
		add(finding.ClassContainer, r.Namespace, r.ID, d.task(r.Namespace, r.ID))
	}
	for _, t := range fresh(was.Tasks, is.Tasks,
		func(t inventory.Task) inventory.Ref { return inventory.Ref{Namespace: t.Namespace, ID: t.ID} }) {
		fs := fact.Facts{fact.Task: t.Status, fact.TaskPID: strconv.Itoa(t.PID)}
		if _, ok := d.after.Process(t.PID); !ok && d.after.Processes != nil {
			fs[fact.Process] = fact.None
		}
		add(finding.ClassTask, t.Namespace, t.ID, fs)
	}
	for _, s := range fresh(was.Snapshots, is.Snapshots, func(s inventory.Snapshot) inventory.Snapshot { return s }) {
		add(finding.ClassSnapshot, s.Namespace, s.Key, snapshotFacts(is, s))
	}
	for _, r := range fresh(was.Leases, is.Leases, ref) {
		var fs fact.Facts
		if l, expires := inventory.First(is.Expiring, func(l inventory.ExpiringLease) bool { return l.Ref == r }); expires {
			fs = fact.Facts{fact.Expires: fact.Yes, fact.At: l.Expires.Format(time.RFC3339)}
		}
		add(finding.ClassLease, r.Namespace, r.ID, fs)
	}
	for _, r := range fresh(was.Sandboxes, is.Sandboxes, ref) {
		add(finding.ClassSandbox, r.Namespace, r.ID, d.task(r.Namespace, r.ID))
	}
	for _, r := range freshRecords(was, is) {
		add(finding.ClassMetadata, r.Namespace, r.Name, fact.Facts{fact.Kind: r.Kind})
	}
	return out
}

// snapshotFacts returns why a snapshot still exists.
func snapshotFacts(d *inventory.Daemon, s inventory.Snapshot) fact.Facts {
	if s.Committed {
		return fact.Facts{fact.Kind: fact.Committed}
	}
	if d.HasContainer(s.Namespace, s.Key) {
		return fact.Facts{fact.Container: fact.There}
	}
	l, expires := inventory.First(d.Expiring, func(l inventory.ExpiringLease) bool {
		return slices.Contains(l.Snapshots, s)
	})
	if expires {
		return fact.Facts{fact.Container: fact.None, fact.Lease: fact.Expiring, fact.Expires: fact.Yes, fact.LeaseID: l.ID}
	}
	return fact.Facts{fact.Container: fact.None}
}

// freshRecords returns the new records and namespaces.
func freshRecords(was, is *inventory.Daemon) []inventory.Record {
	out := fresh(was.Records, is.Records, func(r inventory.Record) inventory.Record { return r })
	for _, ns := range fresh(was.Namespaces, is.Namespaces, func(s string) string { return s }) {
		out = append(out, inventory.Record{Kind: fact.ANamespace, Name: ns})
	}
	return out
}
