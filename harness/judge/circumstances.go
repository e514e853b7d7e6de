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
			due := eventDue(h, f.Subject.ID, f.Facts[fact.Topic])
			if !due.IsZero() && shimDied(h, f.Subject.ID, due.Add(reportIn)) {
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

// serving is a shim as its calls show it before the final inventory.
type serving struct {
	first         string // the container of its first call
	created, last time.Time
}

// shimsServing returns the shims with a probe, in the order of their first call about a
// container.
func shimsServing(h *run) (all []*serving) {
	byPID := map[int]*serving{}
	for n := range h.Hits {
		hit := &h.Hits[n]
		if hit.Who != "shim" || hit.Time.After(h.After.At) || hit.ParsedPoint().Service() != "Task" {
			continue
		}
		s := byPID[hit.PID]
		if s == nil {
			s = &serving{}
			byPID[hit.PID] = s
		}
		if s.first == "" && hit.ID != "" {
			s.first, all = hit.ID, append(all, s)
		}
		if hit.ParsedPoint().Where == "entry" {
			s.last = hit.Time
		}
		if s.created.IsZero() && hit.Point == "rpc:shim:Task.Create:entry" {
			s.created = hit.Time
		}
	}
	return all
}

// servedByNeighbour reports whether the shim of another container than the group's first
// one served the group last. The group's socket is named after the first container. A
// shim belongs to the container of its first call.
func servedByNeighbour(h *run) bool {
	if !h.Case.Workload.Grouped {
		return false
	}
	all := shimsServing(h)
	return len(all) > 0 && all[len(all)-1].first != h.Instances[0].ID
}

// leftByTwoShims reports whether two shims of one group can cause a finding of a class.
// They leak a shim and its socket, and a restart of containerd kills a container. Then
// the files and the exit status of this container can be wrong, too.
func (p process) leftByTwoShims(class finding.Class) bool {
	switch class {
	case finding.ClassShim, finding.ClassSocket, finding.ClassEnd:
		return true
	case finding.ClassExitCode, finding.ClassFile:
		init := initOf(p.h, p.i)
		return init.reportedTrue(killed) && !init.mayBeKilled()
	}
	return false
}

// twoShims reports whether two shims served a group at once: the first received a call
// after the second was asked to create a container.
func twoShims(h *run) bool {
	if !h.Case.Workload.Grouped {
		return false
	}
	all := shimsServing(h)
	for _, one := range all {
		for _, other := range all {
			if !one.created.IsZero() && one.created.Before(other.created) && other.created.Before(one.last) {
				return true
			}
		}
	}
	return false
}
