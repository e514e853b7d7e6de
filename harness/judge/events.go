package judge

import (
	"slices"
	"time"

	"github.com/shimquake/shimquake/failpoints"
	"github.com/shimquake/shimquake/fixtures/containerd/daemon"
	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/oracle/check"
	"github.com/shimquake/shimquake/oracle/event"
	"github.com/shimquake/shimquake/oracle/fact"
	"github.com/shimquake/shimquake/oracle/finding"
	"github.com/shimquake/shimquake/oracle/residue"
)

// events: create, start, exit and delete of each container, and of a pod's sandbox,
// arrive once and in order, but for what nobody could hear.
func (known excuses) events(h *harness.History) ([]finding.Finding, []harness.Problem) {
	if !settled(h) {
		return nil, nil
	}
	var lives []check.Life
	for _, i := range h.Instances {
		if i.ID != "" {
			lives = append(lives, life(h, i))
		}
	}
	events, _, _ := h.FirstUse()
	found := slices.DeleteFunc(
		check.Events(ofWorkload(h, events), gaps(h), append(lives, sandboxLives(h)...)),
		func(f finding.Finding) bool {
			behind := []string{fact.AfterInitExit, event.TopicDelete}
			return f.Facts[fact.Topic] == event.TopicExit && slices.Contains(behind, f.Facts[fact.After]) &&
				overtaken(h, f)
		})
	now := conditions(h, h.After.At)
	for n, f := range found {
		if lastOfShim(h, f.Subject.ID) || slices.Contains(now.Happened, residue.ShimKilled) && shimDeleted(h, f.Subject.ID) {
			found[n].Facts[fact.Last] = fact.Yes
		}
	}
	return residue.Mark(known, circumstances(h, found), now), nil
}

// overtaken reports whether a late exit is one that its shim could not send: what is sent
// again, a second later, comes behind what has happened since.
func overtaken(h *harness.History, f finding.Finding) bool {
	events, hits, _ := h.FirstUse()
	use := *h
	use.Hits = hits
	return slices.ContainsFunc(events, func(e event.Task) bool {
		if e.Topic != event.TopicExit || e.Container != f.Subject.ID || e.Exec != f.Subject.Exec || untimed(e.Exited) {
			return false
		}
		tried, _ := unsent(&use, shimsOf(hits, e.Container), e.Exited, time.Time{})
		return !tried.IsZero() && e.Seen.Sub(tried) >= stampedIn
	})
}

// MissesEvents reports whether an event of a task has not come that was due. The runner
// asks, while one may still be on its way.
func MissesEvents(h harness.History, known []residue.Known) bool {
	uses := usesApart(&h)
	found, _ := excuses(known).events(uses)
	ofExecs, _ := excuses(known).execs(uses)
	ofOOMs, _ := ooms(uses)
	found = slices.Concat(found, ofExecs, ofOOMs)
	return slices.ContainsFunc(finding.Violations(found), func(f finding.Finding) bool {
		return slices.Contains([]string{fact.Missing, fact.NotSentAgain}, f.Facts[fact.Event])
	})
}

// ofWorkload are the events but for those of bystanders, which have rules of their own.
func ofWorkload(h *harness.History, events []event.Task) []event.Task {
	if len(h.Bystanders) == 0 {
		return events
	}
	return slices.DeleteFunc(slices.Clone(events), func(e event.Task) bool {
		return slices.ContainsFunc(h.Bystanders, func(b harness.Bystander) bool { return b.ID == e.Container })
	})
}

// life is what is known of a container, and so which events must have arrived and what
// they say.
func life(h *harness.History, i harness.Instance) check.Life {
	l := check.Life{
		Namespace: daemon.TaskNamespace, Container: i.ID, PID: int(i.PID), Begun: i.Begun, Created: i.Created,
		Started: i.Started, Deleted: i.Deleted,
	}
	l.NotBefore, _ = livedUntil(h, i)
	l.NotAfter = endedBy(h, i)
	if h.Case.Workload.API == harness.CRI {
		l.Namespace = daemon.CRINamespace
	}
	if i.Payload.Runs > 0 {
		l.Exited, l.ExitedFrom = exitDue(h, i), endOf(h, i)
		if l.ExitedFrom.IsZero() {
			l.ExitedFrom = l.NotBefore
		}
	}
	l.Told = told(h, i.ID)
	l.SentBy = map[string]time.Time{
		event.TopicCreate: sentAgainBy(h, i, l.Begun, l.Created),
		event.TopicStart:  sentAgainBy(h, i, l.Begun, l.Started),
		event.TopicExit:   sentAgainBy(h, i, l.ExitedFrom, l.Exited),
	}
	return l
}

// sandboxLives are those of the sandboxes that CRI has made, of which a shim tells as of
// any container. The end of one is due where nothing but containerd was broken or killed:
// what CRI has lost it takes for stopped. No delete is: its shim is asked to exit then.
func sandboxLives(h *harness.History) (lives []check.Life) {
	if h.CRI == nil {
		return nil
	}
	for _, d := range h.CRI.Done {
		if d.Verb != "RunPodSandbox" {
			continue
		}
		l := check.Life{
			Namespace: daemon.CRINamespace, Container: d.ID, Begun: firstCall(h, d.Verb), Created: d.At, Started: d.At,
			Told: told(h, d.ID),
		}
		if stopped, ok := h.CRI.When("StopPodSandbox", d.ID); ok && !brokenOrKilled(h, h.After.At) {
			l.Exited, l.ExitedFrom = stopped, d.At
		}
		lives = append(lives, l)
	}
	return lives
}

// firstCall is when the client made the first of its calls of a verb; the beginning of
// the case, where none is noted.
func firstCall(h *harness.History, verb string) time.Time {
	for _, c := range h.Calls {
		if c.Verb == verb {
			return c.At
		}
	}
	return h.Began
}

// shimDeleted reports whether a shim has carried out the Delete of a container. If it was
// killed afterwards, what it had not sent died with it.
func shimDeleted(h *harness.History, id string) bool {
	return slices.ContainsFunc(h.Hits, func(hit failpoints.Hit) bool {
		return isShimDelete(hit) && hit.ID == id
	})
}

// lastOfShim reports whether the delete of a container was the last thing that its shim
// had to tell before it was asked to exit: the last that the shim has carried out. Where
// no shim has noted one that is, in a pod, the sandbox's, and of containers behind one
// shim that of the one that was deleted last.
func lastOfShim(h *harness.History, id string) bool {
	last := map[int]string{} // by shim
	shim := 0
	for _, hit := range h.Hits {
		if isShimDelete(hit) && !hit.Time.After(h.After.At) {
			last[hit.PID] = hit.ID
			if hit.ID == id {
				shim = hit.PID
			}
		}
	}
	if shim != 0 {
		return last[shim] == id
	}
	w := h.Case.Workload
	if w.API == harness.CRI {
		return !slices.ContainsFunc(h.Instances, func(i harness.Instance) bool { return i.ID == id })
	}
	if !w.Grouped || len(h.Instances) == 0 {
		return true
	}
	of := slices.MaxFunc(h.Instances, func(a, b harness.Instance) int { return a.Deleted.Compare(b.Deleted) })
	return of.ID == id
}

// isShimDelete reports whether a shim has carried out the Delete of a container.
func isShimDelete(hit failpoints.Hit) bool {
	return hit.Point == "rpc:shim:Task.Delete:exit" && hit.ExecID == "" && hit.Err == ""
}
