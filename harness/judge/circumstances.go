package judge

import (
	"time"

	"github.com/shimquake/shimquake/oracle/event"
	"github.com/shimquake/shimquake/oracle/fact"
	"github.com/shimquake/shimquake/oracle/finding"
)

// reportIn is how long containerd and a shim may take to report and to store an exit. If
// one of them is killed within this time, it may not have reported the exit yet. At a
// load of 60 containerd took more than a second.
const reportIn = 5 * time.Second

// circumstances adds possible causes to findings about containers. So a known bug matches
// a cause, and needs no list of points. The causes are:
//   - of a wrong exit: containerd was down, or the shim dead, before the exit was surely
//     reported
//   - of a missing event: the shim was dead before it had surely sent the event
//   - of a cgroup, or an event without a pid: Create failed in the shim, or no shim was
//     called
//   - of a socket without a listener: the shim of another container served the group
//   - of a leak of a group: two shims served it at once
func circumstances(h *run, found []finding.Finding) []finding.Finding {
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
			if due := eventDue(h, f.Subject.ID, f.Facts[fact.Topic]); !due.IsZero() && shimDied(h, f.Subject.ID, due.Add(reportIn)) {
				f.Facts[fact.Shim] = fact.Dead
			}
		case of && f.Class == finding.ClassExitCode:
			p.noteDeadReporters(f)
		case of && noPID && creationOf(h, f.Subject.ID).failed && shimDied(h, f.Subject.ID, h.After.At):
			f.Facts[fact.Create], f.Facts[fact.Shim] = fact.CutOff, fact.Dead
		}
	}
	return found
}

// noteDeadReporters adds to a finding about an exit whether containerd or the shim was
// dead before the exit was surely reported.
func (p process) noteDeadReporters(f *finding.Finding) {
	from, to := p.unreportedWindow()
	if downBetween(p.h, from, to) {
		f.Facts[fact.Containerd] = fact.Down
	}
	if shimDied(p.h, p.i.ID, to) {
		f.Facts[fact.Shim] = fact.Dead
	}
}

// unreportedWindow returns the time from the exit of a process until it was surely
// reported.
func (p process) unreportedWindow() (from, to time.Time) {
	from, _ = p.exitWindow()
	to = p.h.After.At // a later fault cannot be the cause
	if over := p.over(); !over.IsZero() && over.Add(reportIn).Before(to) {
		to = over.Add(reportIn)
	}
	return from, to
}

// eventDue returns when the create or start event of a container or a sandbox was due. An
// exit event has no such time, because containerd sends it for a dead shim.
func eventDue(h *run, id, topic string) time.Time {
	p, ok := processOf(h, id, "")
	switch {
	case !ok && callOf[topic] != "":
		return h.succeeded(id, callOf[topic])
	case topic == event.TopicCreate:
		return p.i.Created
	case topic == event.TopicStart:
		return p.i.Started
	}
	return time.Time{}
}

// creation is the result of the shims' Create calls for a container, before the final
// inventory.
type creation struct {
	asked  bool // A shim received Create.
	failed bool // A shim received Create, and none succeeded.
	died   bool // The same, and containerd was down during a Create.
}

func creationOf(h *run, id string) (c creation) {
	created := false
	var from time.Time
	for _, hit := range h.hitsOf[id] {
		if hit.Time.After(h.After.At) {
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

// servedByNeighbour reports whether the shim of another container than the group's first
// one served the group last. The group's socket is named after the first container. A
// shim belongs to the container of its first call.
func servedByNeighbour(h *run) bool {
	asked, last := map[int]bool{}, ""
	for n := range h.Hits {
		hit := &h.Hits[n]
		if hit.Who == "shim" && hit.ID != "" && !hit.Time.After(h.After.At) && !asked[hit.PID] &&
			hit.ParsedPoint().Service() == "Task" {
			asked[hit.PID], last = true, hit.ID
		}
	}
	return h.Case.Workload.Grouped && last != "" && last != h.Instances[0].ID
}

// leftByTwoShims reports whether two shims of one group can cause a finding of a class.
// They leak a shim and its socket, and a restart of containerd kills a container. Then
// the files and the exit status of this container can be wrong, too.
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
func twoShims(h *run) bool {
	if !h.Case.Workload.Grouped {
		return false
	}
	creates, last := map[int]time.Time{}, map[int]time.Time{}
	for n := range h.Hits {
		hit := &h.Hits[n]
		if hit.Who != "shim" || hit.ParsedPoint().Service() != "Task" || hit.ParsedPoint().Where != "entry" ||
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
