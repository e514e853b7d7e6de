package read

import (
	"maps"
	"slices"
	"strings"

	"github.com/shimquake/shimquake/oracle/event"
	"github.com/shimquake/shimquake/oracle/exit"
	"github.com/shimquake/shimquake/oracle/fact"
)

// deduce combines the evidence of several lines.
func (r *reader) deduce() {
	for _, s := range r.shims {
		r.owner(s)
	}
	r.children()
	r.waiting()
	r.growth()
	r.tasks()
	r.ends()
	r.leftovers()
}

// owner notes a shim if containerd does not know its container. The parent of a shim
// proves nothing: it is process 1 for every shim of runtime v2.
func (r *reader) owner(s process) {
	facts := fact.Facts{}
	if r.noBundle[s.id] > 0 {
		facts[fact.Bundle] = fact.Gone
	}
	o := Observation{What: OrphanShim, Facts: facts, Namespace: s.namespace, ID: s.id, PID: s.pid}
	at, pods := r.strange(s.id), r.listings["pods"]
	switch {
	case at > 0:
	case s.namespace == "k8s.io" && pods > 0 && s.id != "" && !r.knows(s.id): // crictl lists all of CRI's
		o.What, at = ShimWithoutPod, pods
	case !r.knows(s.id):
		o.What, at = ShimNotAsked, s.n
	default:
		return
	}
	r.see(o, s.line)
	r.see(o, line{n: at})
}

// strange returns the number of the line that proves that containerd does not know an
// id, or 0.
func (r *reader) strange(id string) int {
	if id == "" {
		return 0
	}
	for _, known := range slices.Sorted(maps.Keys(r.unknown)) {
		at := r.unknown[known]
		if known != "" && (strings.HasPrefix(id, known) || strings.HasPrefix(known, id)) {
			return at
		}
	}
	if r.knows(id) {
		return 0
	}
	for _, kind := range []string{"tasks", "containers"} { // the first complete list
		if at := r.listings[kind]; at > 0 {
			return at
		}
	}
	return 0
}

// knows reports whether any listing has an id.
func (r *reader) knows(id string) bool {
	for _, rows := range r.listed {
		for listed := range rows {
			if len(listed) >= shortID && (strings.HasPrefix(id, listed) || strings.HasPrefix(listed, id)) || listed == id {
				return true
			}
		}
	}
	return false
}

// shortID is the length of the ids that crictl and docker print.
const shortID = 12

// children notes shims without children, if the report lists all processes.
func (r *reader) children() {
	parents := map[int]bool{}
	others := 0
	for _, p := range r.processes {
		parents[p.ppid] = true
		if !shimProgram.MatchString(" " + p.args) {
			others++
		}
	}
	if !r.fullPS && others == 0 {
		return
	}
	for _, s := range r.shims {
		if s.ppid >= 0 && !parents[s.pid] && !r.treeBelow(s) {
			r.see(Observation{What: ChildlessShim, Namespace: s.namespace, ID: s.id, PID: s.pid}, s.line)
		}
	}
}

// waiting notes zombies, and processes that the kernel blocks (state D).
func (r *reader) waiting() {
	shims := map[int]bool{}
	for _, s := range r.shims {
		shims[s.pid] = true
	}
	for _, pid := range slices.Sorted(maps.Keys(r.processes)) {
		p := r.processes[pid]
		switch {
		case strings.HasPrefix(p.state, "D") && !strings.HasPrefix(p.args, "["):
			r.see(Observation{What: KernelWait, PID: pid}, p.line)
		case strings.HasPrefix(p.state, "Z") && (p.ppid < 0 || shims[p.ppid]):
			r.see(Observation{What: Zombie, PID: pid}, p.line)
		}
	}
}

// treeBelow reports whether the row after a shim's is drawn as its child.
func (r *reader) treeBelow(s process) bool {
	i := slices.IndexFunc(r.all, func(l line) bool { return l.n == s.n })
	return i >= 0 && i+1 < len(r.all) && strings.Contains(r.all[i+1].text, `\_`) &&
		!shimProgram.MatchString(r.all[i+1].text)
}

// growth notes a growing number of shims: at least three numbers that never fall.
func (r *reader) growth() {
	if len(r.counts) < 3 {
		return
	}
	if slices.IsSortedFunc(r.counts, func(a, b counted) int { return a.n - b.n }) &&
		r.counts[0].n < r.counts[len(r.counts)-1].n {
		for _, c := range r.counts {
			r.see(Observation{What: GrowingShims}, c.line)
		}
	}
}

// tasks compares the listed tasks and containers with the listed processes.
func (r *reader) tasks() {
	for _, id := range slices.Sorted(maps.Keys(r.listed["tasks"])) {
		t := r.listed["tasks"][id]
		o := Observation{ID: id, PID: t.pid, Facts: fact.Facts{fact.Task: t.status}}
		switch {
		case t.status == "UNKNOWN":
			o.What = UnknownTask
			r.see(o, t.line)
		case t.status == fact.TaskStopped && r.dockerTakesForRunning(id): // containerd knows the exit, dockerd does not
			r.see(Observation{What: EventMissing, ID: id, Facts: fact.Facts{fact.Topic: event.TopicExit}}, t.line)
		case t.pid > 0 && r.emptyPIDs[t.pid] > 0:
			o.What = TaskNoProcess
			if !slices.Contains([]string{"CREATED", "RUNNING", "STOPPED", "PAUSED", "PAUSING"}, t.status) {
				o.Facts = fact.Facts{}
			}
			r.see(o, t.line)
			r.see(o, line{n: r.emptyPIDs[t.pid]})
		case t.status == "CREATED":
			o.What = CreatedTask
			r.see(o, t.line)
		case t.status == fact.TaskStopped:
			o.What = StoppedTask
			r.see(o, t.line)
		}
	}
	for _, bad := range []struct {
		list, status string
		what         Kind
	}{
		{"crictl", "Unknown", CRIUnknown}, {"crictl", "Created", CRICreated}, {"docker", "Unknown", UnknownTask},
		{"pods", "NotReady", PodNotReady},
	} {
		for _, id := range slices.Sorted(maps.Keys(r.listed[bad.list])) {
			if row := r.listed[bad.list][id]; row.status == bad.status {
				r.see(Observation{What: bad.what, ID: id}, row.line)
			}
		}
	}
	for _, pid := range slices.Sorted(maps.Keys(r.inspectedPIDs)) { // CRI prints a pid only for a running container
		if at, c := r.emptyPIDs[pid], r.inspectedPIDs[pid]; at > 0 {
			o := Observation{What: TaskNoProcess, ID: c.id, PID: pid}
			r.see(o, c.line)
			r.see(o, line{n: at})
		}
	}
	for _, d := range r.docker {
		if d.status == "running" && (d.pid > 0 && r.emptyPIDs[d.pid] > 0) {
			r.see(Observation{What: StillRunning, ID: d.id, PID: d.pid}, d.line)
		}
	}
}

// dockerTakesForRunning reports whether docker inspect shows a container as running.
func (r *reader) dockerTakesForRunning(id string) bool {
	return slices.ContainsFunc(r.docker, func(d dockerState) bool {
		return d.status == "running" && (d.id != "" && strings.HasPrefix(id, d.id) || d.pid == r.listed["tasks"][id].pid)
	})
}

// ends compares the exit events of each container.
func (r *reader) ends() {
	first := map[string]exitEvent{}
	for _, e := range r.exits {
		if e.source != "docker" && e.exec == "" && e.pid == 0 {
			r.see(Observation{What: EventWithoutPID, ID: e.id, Facts: fact.Facts{fact.Topic: e.source}}, e.line)
		}
		key := e.id + " " + e.exec
		before, twice := first[key]
		if !twice {
			first[key] = e
			continue
		}
		switch {
		case before.status != e.status:
			r.see(Observation{What: StatusChanged, ID: e.id}, before.line)
			r.see(Observation{What: StatusChanged, ID: e.id}, e.line)
			if e.status == 137 || e.status == 255 {
				r.wrong(e)
			}
		case e.source == before.source && e.source != "/tasks/delete":
			r.see(Observation{What: ExitTwice, ID: e.id, Facts: facts("repeat=same")}, e.line)
		}
	}
	for _, d := range r.docker {
		for _, e := range r.exits {
			if d.status == "running" && d.id != "" && (strings.HasPrefix(d.id, e.id) || strings.HasPrefix(e.id, d.id)) {
				r.see(Observation{What: StillRunning, ID: d.id, PID: d.pid}, d.line)
			}
		}
	}
}

// wrong notes a status that cannot be true, because another one was reported before.
func (r *reader) wrong(e exitEvent) {
	o := Observation{What: Status137, ID: e.id, Facts: facts("by=" + string(exit.ByTaskExit))}
	if e.status == 255 {
		o.Facts = fact.Facts{fact.By: string(exit.ByTaskExit), fact.Status: fact.MadeUp255}
	}
	if e.source == "/tasks/delete" {
		o.Facts[fact.By] = string(exit.ByTaskDelete)
	}
	r.see(o, e.line)
}

// leftovers notes files and mounts of ids that containerd does not know.
func (r *reader) leftovers() {
	for _, list := range []struct {
		what Kind
		rows []listing
	}{{BundleLeft, r.bundles}, {MountLeft, r.mounts}, {CgroupLeft, r.cgroups}} {
		for _, b := range list.rows {
			if at := r.strange(b.id); at > 0 {
				r.see(Observation{What: list.what, ID: b.id}, b.line)
				r.see(Observation{What: list.what, ID: b.id}, line{n: at})
			}
		}
	}
	noShim := len(r.shims) == 0 && slices.ContainsFunc(r.counts, func(c counted) bool { return c.n == 0 })
	for _, s := range r.sockets {
		listed := s.status == "" // the report has only its name
		if strings.Contains(s.status, "refused") || strings.Contains(s.status, "no listener") || listed && noShim {
			r.see(Observation{What: SocketLeft, Facts: facts("socket=silent")}, s.line)
		}
	}
}
