package judge

import (
	"slices"
	"time"

	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/oracle/event"
	"github.com/shimquake/shimquake/oracle/fact"
	"github.com/shimquake/shimquake/oracle/finding"
)

// reportIn is how long containerd may take to report and to write down an exit. A process
// killed within this window may not have reported yet. At a load of 60 containerd took
// more than a second.
const reportIn = 5 * time.Second

// circumstances adds possible causes to findings about containers, so that known bugs
// need no list of points. The causes are:
//   - of an exit: containerd was down, or the shim dead, before it can have reported it
//   - of a missing event: the shim was dead before it can have sent it
//   - of a cgroup, or an event without a pid: runc was cut off in Create, or not asked
//   - of a silent socket: a neighbour's shim served the group
//   - of what a group leaves: it had two shims
func circumstances(h *harness.History, found []finding.Finding) []finding.Finding {
	for at := range found {
		f := &found[at]
		p, of := processOf(h, f.Subject.ID, f.Subject.Exec)
		noPID := f.Facts[fact.Event] == fact.NoPID
		switch {
		case f.Class == finding.ClassSocket && f.Facts[fact.Socket] == fact.Silent && servedByNeighbour(h):
			f.Facts[fact.Served] = fact.ByNeighbour
		case of && p.leftByTwoShims(f.Class) && twoShims(h):
			f.Facts[fact.Served] = fact.ByTwo
			if f.Class == finding.ClassExitCode {
				p.noteDeadReporters(f)
			}
		case f.Class == finding.ClassCgroup && creationOf(h, f.Subject.ID).failed:
			f.Facts[fact.Create] = fact.CutOff
		case noPID && !creationOf(h, f.Subject.ID).asked:
			f.Facts[fact.Create] = fact.NotAsked
		case noPID && creationOf(h, f.Subject.ID).died:
			f.Facts[fact.Create], f.Facts[fact.Containerd] = fact.CutOff, fact.Down
		case f.Facts[fact.Event] == fact.Missing && f.Class != finding.ClassExitCode:
			if due := eventDue(h, f.Subject.ID, f.Facts[fact.Topic]); !due.IsZero() && shimDiedBefore(h, f.Subject.ID, due) {
				f.Facts[fact.Shim] = fact.Dead
			}
		case of && f.Class == finding.ClassExitCode:
			p.noteDeadReporters(f)
		case of && noPID && creationOf(h, f.Subject.ID).failed && len(shimKillsOf(h, f.Subject.ID)) > 0:
			f.Facts[fact.Create], f.Facts[fact.Shim] = fact.CutOff, fact.Dead
		}
	}
	return found
}

// noteDeadReporters adds to a finding about an exit which reporters were dead.
func (p process) noteDeadReporters(f *finding.Finding) {
	from, to := p.unreportedWindow()
	if downBetween(p.h, from, to) {
		f.Facts[fact.Containerd] = fact.Down
	}
	if slices.ContainsFunc(shimKillsOf(p.h, p.i.ID), func(k harness.Kill) bool { return k.At.Before(to) }) {
		f.Facts[fact.Shim] = fact.Dead
	}
}

// unreportedWindow returns the time in which no observer may have reported the end of a
// process yet.
func (p process) unreportedWindow() (from, to time.Time) {
	from, _ = p.exitWindow()
	to = p.h.After.At // a later fault has no part in it
	if over := p.over(); !over.IsZero() && over.Add(reportIn).Before(to) {
		to = over.Add(reportIn)
	}
	return from, to
}

// eventDue returns when the create or start event of a container or a sandbox was due.
// containerd itself sends the exit event that a dead shim has not sent.
func eventDue(h *harness.History, id, topic string) (due time.Time) {
	if p, ok := processOf(h, id, ""); ok {
		return map[string]time.Time{event.TopicCreate: p.i.Created, event.TopicStart: p.i.Started}[topic]
	}
	call := map[string]string{event.TopicCreate: "Create", event.TopicStart: "Start"}[topic]
	for _, hit := range h.Hits {
		if call != "" && hit.ID == id && hit.Point == "rpc:shim:Task."+call+":exit" && hit.Err == "" {
			due = hit.Time
		}
	}
	return due
}

// shimDiedBefore reports whether the shim of a container died before it had surely sent
// an event that was due.
func shimDiedBefore(h *harness.History, id string, due time.Time) bool {
	return slices.ContainsFunc(shimKillsOf(h, id), func(k harness.Kill) bool { return k.At.Before(due.Add(reportIn)) })
}

// creation is how the shims' Create of a container went before the look.
type creation struct {
	asked  bool // A shim was asked to create it.
	failed bool // No shim created it.
	died   bool // No shim created it, and containerd was down during the last Create.
}

func creationOf(h *harness.History, id string) (c creation) {
	created := false
	var from time.Time
	for n := range h.Hits {
		hit := &h.Hits[n]
		if hit.Who != "shim" || hit.ID != id || hit.Time.After(h.After.At) {
			continue
		}
		switch hit.Point {
		case "rpc:shim:Task.Create:entry":
			c.asked, from = true, hit.Time
		case "rpc:shim:Task.Create:exit":
			created = created || hit.Err == ""
			c.died = c.died || downBetween(h, from, hit.Time)
		}
	}
	c.failed = c.asked && !created
	c.died = c.died && c.failed
	return c
}

// servedByNeighbour reports whether another container's shim served a group last. The
// socket has the name of the group's first container. A shim is the shim of the container
// that its first call was about.
func servedByNeighbour(h *harness.History) bool {
	asked, last := map[int]bool{}, ""
	for n := range h.Hits {
		hit := &h.Hits[n]
		if hit.Who == "shim" && hit.ID != "" && !hit.Time.After(h.After.At) && !asked[hit.PID] &&
			hit.Passed().Service() == "Task" {
			asked[hit.PID], last = true, hit.ID
		}
	}
	return h.Case.Workload.Grouped && last != "" && last != h.Instances[0].ID
}

// leftByTwoShims reports whether a group with two shims can leave a finding of a class: a
// shim, its socket or the end of a container. A restart kills such a container, and then
// its files and its exit status are lost too.
func (p process) leftByTwoShims(class finding.Class) bool {
	switch class {
	case finding.ClassShim, finding.ClassSocket, finding.ClassEnd:
		return true
	case finding.ClassExitCode, finding.ClassFile:
		t, ran, err := truth(p.h, p.i)
		return err == nil && ran && t.Status == killed && !mayBeKilled(p.h, p.i)
	}
	return false
}

// twoShims reports whether two shims served a group at once: the first received a call
// after the second was asked to create a container.
func twoShims(h *harness.History) bool {
	if !h.Case.Workload.Grouped {
		return false
	}
	creates, last := map[int]time.Time{}, map[int]time.Time{}
	for n := range h.Hits {
		hit := &h.Hits[n]
		if hit.Who != "shim" || hit.Passed().Service() != "Task" || hit.Passed().Where != "entry" ||
			hit.Time.After(h.After.At) {
			continue
		}
		last[hit.PID] = hit.Time
		if _, ok := creates[hit.PID]; !ok && hit.Point == "rpc:shim:Task.Create:entry" {
			creates[hit.PID] = hit.Time
		}
	}
	for one, from := range creates {
		for other := range creates {
			if one != other && from.Before(creates[other]) && creates[other].Before(last[one]) {
				return true
			}
		}
	}
	return false
}
