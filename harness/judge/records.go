package judge

import (
	"slices"
	"time"

	"github.com/shimquake/shimquake/failpoints"
	"github.com/shimquake/shimquake/fixtures/containerd/daemon"
	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/oracle/check"
	"github.com/shimquake/shimquake/oracle/event"
	"github.com/shimquake/shimquake/oracle/finding"
	"github.com/shimquake/shimquake/oracle/inventory"
)

// records: containerd tells that a container's record was made, and that it was removed,
// once each: who keeps a list of what there is goes by these events. Of a removal in
// which a fault has broken a call of containerd's own nothing is known: the record is
// removed first, and what fails then is not reported (containers.local.Delete of v2.4.2).
func records(h *harness.History) ([]finding.Finding, []harness.Problem) {
	if h.Records == nil || !settled(h) || h.After.Inventory.Daemon == nil {
		return nil, nil
	}
	lives := map[inventory.Ref]check.ContainerLife{}
	for of, made := range recordsMade(h) {
		l := check.ContainerLife{There: made, OfImage: known(h, of.ID)}
		if gone := removedIn(h, of, made); !brokenBetween(h, gone) &&
			!slices.Contains(h.After.Inventory.Daemon.Containers, of) {
			l.Gone = gone
		}
		lives[of] = l
	}
	return check.Containers(h.Records, gaps(h), lives), nil
}

// recordsMade are the containers that are known to have been made, and when: those that
// a client was told of, and those that have had a task, or an event of their own.
func recordsMade(h *harness.History) map[inventory.Ref]check.Span {
	made := map[inventory.Ref]check.Span{}
	there := func(of inventory.Ref, from, by time.Time) {
		if was, ok := made[of]; !ok || by.Before(was.To) {
			made[of] = check.Span{From: from, To: by}
		}
	}
	for _, e := range h.Records {
		if e.Topic == event.TopicContainerCreate {
			there(inventory.Ref{Namespace: e.Namespace, ID: e.ID}, h.Began, e.Seen)
		}
	}
	seen, _, _ := h.FirstUse()
	for _, e := range seen {
		if e.Topic == event.TopicCreate && e.Exec == "" {
			there(inventory.Ref{Namespace: e.Namespace, ID: e.Container}, h.Began, e.Seen)
		}
	}
	for _, i := range h.Instances {
		of := inventory.Ref{Namespace: daemon.TaskNamespace, ID: i.ID}
		if h.Case.Workload.API == harness.CRI {
			of.Namespace = daemon.CRINamespace
		}
		if i.ID != "" && !i.Created.IsZero() {
			there(of, i.Begun, i.Created)
		}
		if span, ok := made[of]; ok { // it is not there before it is asked for
			span.From = i.Begun
			made[of] = span
		}
	}
	return made
}

// known reports whether an id is of what the client has been told that it was made.
func known(h *harness.History, id string) bool {
	return h.CRI != nil && h.CRI.Made(id) ||
		slices.ContainsFunc(h.Instances, func(i harness.Instance) bool { return i.ID == id && !i.Created.IsZero() })
}

// removedIn is when the record of a container that is gone can have been removed: of what
// the client knew to be made, while it asked for that.
func removedIn(h *harness.History, of inventory.Ref, made check.Span) check.Span {
	if !known(h, of.ID) || h.Done.IsZero() {
		return check.Span{From: made.From, To: h.After.At}
	}
	first := time.Time{}
	for _, c := range h.Calls {
		removes := slices.Contains(removing, c.Verb) && (c.Of == "" || c.Of == of.ID)
		if removes && c.At.After(made.To) && (first.IsZero() || c.At.Before(first)) {
			first = c.At
		}
	}
	if first.IsZero() {
		first = made.From
	}
	return check.Span{From: first, To: h.Done}
}

// brokenBetween reports whether a fault has broken a call of containerd's own in a time.
func brokenBetween(h *harness.History, in check.Span) bool {
	return slices.ContainsFunc(h.Hits, func(hit failpoints.Hit) bool {
		return hit.Fault >= 0 && hit.Who == "containerd" && !killedByTerm(hit.Did) &&
			!hit.Time.Before(in.From) && !hit.Time.After(in.To)
	})
}

// removing are the client's calls that remove a container.
var removing = []string{"remove", "RemoveContainer", "RemovePodSandbox"}
