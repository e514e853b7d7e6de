package judge

import (
	"slices"
	"time"

	"github.com/shimquake/shimquake/failpoints"
	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/oracle/event"
	"github.com/shimquake/shimquake/oracle/fact"
	"github.com/shimquake/shimquake/oracle/finding"
)

// tellIn is how long it may take until an exit is reported and written down, on a machine
// that has other things to do: who dies within has perhaps not done so. At a load of 60
// containerd took more than a second.
const tellIn = 5 * time.Second

// circumstances adds to findings about containers what their cause may lie in, so that
// what is known of a window needs no list of the points that lie in it. To exits, who
// could not tell them: containerd, which was down when the container ended or went down
// before it can have reported, and the shim, which a fault had killed by then. To events
// of a beginning, that the shim had died. To cgroups, that runc was cut off while it made
// the container; to events without a pid that, or that no shim was asked to make it. To
// sockets that nobody listens on, that a neighbour's shim served its group; and to what a
// group with two shims leaves, that it had two.
func circumstances(h *harness.History, found []finding.Finding) []finding.Finding {
	for at := range found {
		f := &found[at]
		n := slices.IndexFunc(h.Instances, func(i harness.Instance) bool { return i.ID != "" && i.ID == f.Subject.ID })
		switch {
		case f.Class == finding.ClassSocket && f.Facts[fact.Socket] == fact.Silent && servedByNeighbour(h):
			f.Facts[fact.Served] = fact.ByNeighbour
		case n >= 0 && ofTwoShims(h, *f, h.Instances[n]) && twoShims(h):
			f.Facts[fact.Served] = fact.ByTwo
			if f.Class == finding.ClassExitCode {
				mourn(h, h.Instances[n], f)
			}
		case f.Class == finding.ClassCgroup && createFailed(h, f.Subject.ID):
			f.Facts[fact.Create] = fact.CutOff
		case f.Facts[fact.Event] == fact.NoPID && !askedToCreate(h, f.Subject.ID):
			f.Facts[fact.Create] = fact.NotAsked
		case f.Facts[fact.Event] == fact.NoPID && diedInCreate(h, f.Subject.ID):
			f.Facts[fact.Create], f.Facts[fact.Containerd] = fact.CutOff, fact.Down
		case n < 0 && f.Facts[fact.Event] == fact.Missing:
			queuedBeside(h, f)
		case n < 0:
		case f.Class == finding.ClassExitCode:
			mourn(h, h.Instances[n], f)
		case f.Facts[fact.Event] == fact.Missing:
			queued(h, h.Instances[n], f)
		case f.Facts[fact.Event] == fact.NoPID && createFailed(h, f.Subject.ID) &&
			len(shimKillsOf(h, f.Subject.ID)) > 0:
			f.Facts[fact.Create], f.Facts[fact.Shim] = fact.CutOff, fact.Dead
		}
	}
	return found
}

// mourn adds to a finding about an exit who had died.
func mourn(h *harness.History, i harness.Instance, f *finding.Finding) {
	from, to := maybeUntold(h, i, f.Subject.Exec)
	if downBetween(h, from, to) {
		f.Facts[fact.Containerd] = fact.Down
	}
	if slices.ContainsFunc(shimKillsOf(h, i.ID), func(k harness.Kill) bool { return k.At.Before(to) }) {
		f.Facts[fact.Shim] = fact.Dead
	}
}

// maybeUntold is the time in which the end of a process has perhaps not been told yet.
func maybeUntold(h *harness.History, i harness.Instance, exec string) (from, to time.Time) {
	_, from, _ = processOf(h, i, exec)
	over := overBy(h, i)
	for _, e := range i.Execs {
		if e.Called() == exec {
			over = execOver(h, i, e)
		}
	}
	to = h.After.At // what comes after the look is no fault
	if !over.IsZero() && over.Add(tellIn).Before(to) {
		to = over.Add(tellIn)
	}
	return from, to
}

// queued adds to a missing event that its shim had died before it can have sent it. What
// a shim has not reported an end containerd tells.
func queued(h *harness.History, i harness.Instance, f *finding.Finding) {
	due := map[string]time.Time{event.TopicCreate: i.Created, event.TopicStart: i.Started}[f.Facts[fact.Topic]]
	dead := func(k harness.Kill) bool { return k.At.Before(due.Add(tellIn)) }
	if !due.IsZero() && slices.ContainsFunc(shimKillsOf(h, i.ID), dead) {
		f.Facts[fact.Shim] = fact.Dead
	}
}

// queuedBeside adds to a missing event of what is no container of the workload, as a
// sandbox is, that its shim had died before it can have sent it.
func queuedBeside(h *harness.History, f *finding.Finding) {
	call, ok := map[string]string{event.TopicCreate: "Create", event.TopicStart: "Start"}[f.Facts[fact.Topic]]
	due := time.Time{}
	for _, hit := range h.Hits {
		if ok && hit.ID == f.Subject.ID && hit.Point == "rpc:shim:Task."+call+":exit" && hit.Err == "" {
			due = hit.Time
		}
	}
	dead := func(k harness.Kill) bool { return k.At.Before(due.Add(tellIn)) }
	if !due.IsZero() && slices.ContainsFunc(shimKillsOf(h, f.Subject.ID), dead) {
		f.Facts[fact.Shim] = fact.Dead
	}
}

// createFailed reports whether a shim was asked to create a container before the look,
// and did not answer, or with an error.
func createFailed(h *harness.History, id string) bool {
	asked := false
	for _, hit := range h.Hits {
		if hit.Who != "shim" || hit.ID != id || hit.Time.After(h.After.At) {
			continue
		}
		switch hit.Point {
		case "rpc:shim:Task.Create:entry":
			asked = true
		case "rpc:shim:Task.Create:exit":
			if hit.Err == "" {
				return false
			}
		}
	}
	return asked
}

// diedInCreate reports whether containerd died before a shim had failed to create a
// container that none created after that.
func diedInCreate(h *harness.History, id string) bool {
	if !createFailed(h, id) {
		return false
	}
	var from time.Time
	for _, hit := range h.Hits {
		switch {
		case hit.Who != "shim" || hit.ID != id || hit.Time.After(h.After.At):
		case hit.Point == "rpc:shim:Task.Create:entry":
			from = hit.Time
		case hit.Point == "rpc:shim:Task.Create:exit":
			return downBetween(h, from, hit.Time)
		}
	}
	return false
}

// askedToCreate reports whether any shim was asked to create a container before the look.
func askedToCreate(h *harness.History, id string) bool {
	return slices.ContainsFunc(h.Hits, func(hit failpoints.Hit) bool {
		return hit.Point == "rpc:shim:Task.Create:entry" && hit.ID == id && !hit.Time.After(h.After.At)
	})
}

// servedByNeighbour reports whether the shim that served the containers of a group last
// before the look is of another container than the one that the group, and with it the
// socket, is called by. A shim is of the container that it was asked about first.
func servedByNeighbour(h *harness.History) bool {
	if !h.Case.Workload.Grouped {
		return false
	}
	asked, last := map[int]bool{}, ""
	for _, hit := range h.Hits {
		if hit.Who != "shim" || hit.ID == "" || hit.Time.After(h.After.At) || asked[hit.PID] ||
			hit.Passed().Service() != "Task" {
			continue
		}
		asked[hit.PID], last = true, hit.ID
	}
	return last != "" && last != h.Instances[0].ID
}

// ofTwoShims reports whether a group with two shims can have left a finding about a
// container. It leaves a shim, the shim's socket and the container's end. A restart kills
// such a container: then its files and its exit status are lost, too.
func ofTwoShims(h *harness.History, f finding.Finding, i harness.Instance) bool {
	switch f.Class {
	case finding.ClassShim, finding.ClassSocket, finding.ClassEnd:
		return true
	case finding.ClassExitCode, finding.ClassFile:
		t, ran, err := truth(h, i)
		return err == nil && ran && t.Status == killed && !mayBeKilled(h, i)
	}
	return false
}

// twoShims reports whether a group was served by two shims at once: one that was asked to
// create a container was asked something when another had been.
func twoShims(h *harness.History) bool {
	if !h.Case.Workload.Grouped {
		return false
	}
	creates, last := map[int]time.Time{}, map[int]time.Time{}
	for _, hit := range h.Hits {
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
