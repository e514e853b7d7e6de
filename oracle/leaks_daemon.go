package oracle

import (
	"fmt"
	"slices"
	"time"
)

// expiresKey is the detail, "true", of a lease that ends by itself, and of a snapshot that only such a lease keeps.
const expiresKey = "expires"

// daemon lists what containerd still knows and did not know before.
func (j judge) daemon() []Finding {
	if j.after.Daemon == nil {
		return nil
	}
	was, is := j.before.Daemon, j.after.Daemon
	if was == nil {
		was = &Daemon{} // containerd was not asked before: all that it knows now counts
	}
	var out []Finding
	add := func(class Class, ns, id, reason string) {
		out = append(out, Finding{
			Invariant: Leak, Class: class, Namespace: ns, ID: id,
			What: fmt.Sprintf("%s %s/%s", class, ns, id), Reason: reason,
		})
	}
	ref := func(r Ref) Ref { return r }
	for _, r := range fresh(was.Containers, is.Containers, ref) {
		add(ClassContainer, r.Namespace, r.ID, "containerd still has it; "+j.whyTask(r.Namespace, r.ID))
	}
	for _, t := range fresh(was.Tasks, is.Tasks, func(t Task) Ref { return Ref{t.Namespace, t.ID} }) {
		reason := fmt.Sprintf("containerd still has it: %s, pid %d", t.Status, t.PID)
		if _, ok := j.after.process(t.PID); !ok && j.after.Processes != nil {
			reason += "; no such process"
		}
		add(ClassTask, t.Namespace, t.ID, reason)
	}
	for _, s := range fresh(was.Snapshots, is.Snapshots, func(s Snapshot) Snapshot { return s }) {
		if s.Committed {
			continue
		}
		reason, details := "active or view, and not removed; ", map[string]string{"snapshotter": s.Snapshotter}
		l, expires := is.expiring(func(l ExpiringLease) bool { return slices.Contains(l.Snapshots, s) })
		switch {
		case is.container(s.Namespace, s.Key):
			reason += "the container of that name is still there"
		case expires:
			reason += "no container of that name; held by lease " + l.ID + ", which expires"
			details[expiresKey] = "true"
		default:
			reason += "no container of that name"
		}
		add(ClassSnapshot, s.Namespace, s.Key, reason)
		out[len(out)-1].Details = details
	}
	for _, r := range fresh(was.Leases, is.Leases, ref) {
		reason := "not deleted: it keeps its content and snapshots from being collected"
		l, expires := is.expiring(func(l ExpiringLease) bool { return l.Ref == r })
		if expires {
			reason += " until it expires"
		}
		add(ClassLease, r.Namespace, r.ID, reason)
		if expires {
			out[len(out)-1].Details = map[string]string{expiresKey: "true", "expiry": l.Expires.Format(time.RFC3339)}
		}
	}
	for _, r := range fresh(was.Sandboxes, is.Sandboxes, ref) {
		add(ClassSandbox, r.Namespace, r.ID, "containerd's sandbox store still has it; "+j.whyTask(r.Namespace, r.ID))
	}
	return out
}
