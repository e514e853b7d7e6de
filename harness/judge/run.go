package judge

import (
	"cmp"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/shimquake/shimquake/failpoints"
	"github.com/shimquake/shimquake/fixtures/containerd/daemon"
	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/oracle/event"
	"github.com/shimquake/shimquake/oracle/exit"
)

// run is a history with an index, made once. Each use of an id has an id of its own, see
// usesApart.
type run struct {
	*harness.History
	namespace string // containerd's namespace of the workload
	// The lists end when the first id is used again. shimsOf has the pids of the shims that
	// received calls about an id until then.
	events   []event.Task
	hits     []failpoints.Hit
	reported []exit.Observation
	shimsOf  map[string]map[int]bool
	hitsOf   map[string][]*failpoints.Hit // all hits, by the id of the container
	effects  []effect                     // of the faults
}

func runOf(h *harness.History) *run {
	r := indexed(usesApart(h), daemon.TaskNamespace)
	if h.Case.Workload.API == harness.CRI {
		r.namespace = daemon.CRINamespace
	}
	r.effects = effectsOf(r)
	return r
}

func indexed(h *harness.History, namespace string) *run {
	r := &run{History: h, namespace: namespace,
		hitsOf: map[string][]*failpoints.Hit{}, shimsOf: map[string]map[int]bool{}}
	r.events, r.hits, r.reported = h.FirstUse()
	for n := range h.Hits {
		hit := &h.Hits[n] // no copy, because a history can have 100,000 hits
		if hit.ID == "" {
			continue
		}
		r.hitsOf[hit.ID] = append(r.hitsOf[hit.ID], hit)
		if hit.Who == "shim" && n < len(r.hits) {
			if r.shimsOf[hit.ID] == nil {
				r.shimsOf[hit.ID] = map[int]bool{}
			}
			r.shimsOf[hit.ID][hit.PID] = true
		}
	}
	return r
}

// callsOf returns the hits about a container at the entry or the exit of a call, such as
// shim:Task.Create:exit. No call about an exec is among them.
func (h *run) callsOf(id, at string) iter.Seq[*failpoints.Hit] {
	return func(yield func(*failpoints.Hit) bool) {
		for _, hit := range h.hitsOf[id] {
			if hit.Point == "rpc:"+at && hit.ExecID == "" && !yield(hit) {
				return
			}
		}
	}
}

// succeeded returns when a shim first carried out a call about a container, such as
// Task.Create, or the zero time.
func (h *run) succeeded(id, call string) time.Time {
	for hit := range h.callsOf(id, "shim:"+call+":exit") {
		if hit.Err == "" {
			return hit.Time
		}
	}
	return time.Time{}
}

// eventOf returns the first event of a topic about a container, or nil.
func eventOf(events []event.Task, topic, container string) *event.Task {
	for n := range events {
		if e := &events[n]; e.Topic == topic && e.Container == container && e.Exec == "" {
			return e
		}
	}
	return nil
}

// alone returns the run of the bystander as that of a workload. Of the effects of faults,
// it has those on containerd and on the whole machine.
func (b *beside) alone() *run {
	h := b.h
	events := slices.DeleteFunc(slices.Clone(h.Events), func(e event.Task) bool {
		return e.Container != b.b.ID || e.Namespace != b.b.Namespace
	})
	alone := indexed(&harness.History{
		Case: harness.Case{Plan: h.Case.Plan, Workload: harness.Workload{API: b.b.API}},
		Run: harness.Run{Version: h.Version, Began: h.Began, Done: b.b.Removed,
			Flushed: &harness.Flushed{Events: len(events), Reported: len(b.b.Reported)}},
		Instances: []harness.Instance{b.b.Instance},
		Log: harness.Log{Deaths: h.Deaths, Stops: h.Stops, Exits: h.Exits, Calls: b.b.Calls, Reported: b.b.Reported,
			Events: events, Gaps: h.Gaps},
		Before: h.Before, After: h.After,
	}, b.b.Namespace)
	alone.effects = slices.DeleteFunc(slices.Clone(h.effects), func(e effect) bool {
		return besideWorks[e.kind] == 0 && e.kind != notSubscribed
	})
	return alone
}

// usesApart returns the history with a different id for each use of an id, so that no
// rule has to know of a second use. c0-2 is the second use of c0, and e0-2 is the second
// use of the exec e0. Events and reports belong to the use with their pid. All other
// records belong to the latest use that had begun by then.
func usesApart(h *harness.History) *harness.History {
	if !h.Case.Workload.ReusesIDs() {
		return h
	}
	out := *h
	out.Instances, out.Events, out.Hits = slices.Clone(h.Instances), slices.Clone(h.Events), slices.Clone(h.Hits)
	out.Reported, out.Signals, out.Calls = slices.Clone(h.Reported), slices.Clone(h.Signals), slices.Clone(h.Calls)
	for n := range out.Events {
		e := &out.Events[n]
		rename(h, &e.Container, &e.Exec, e.PID, cmp.Or(e.Sent, e.Seen))
	}
	for n := range out.Hits {
		rename(h, &out.Hits[n].ID, &out.Hits[n].ExecID, 0, out.Hits[n].Time)
	}
	for n := range out.Reported {
		o := &out.Reported[n]
		rename(h, &o.Container, &o.Exec, o.PID, o.At)
	}
	for n := range out.Signals {
		rename(h, &out.Signals[n].Container, new(string), 0, out.Signals[n].At)
	}
	for n := range out.Calls {
		id, exec, of := strings.Cut(out.Calls[n].Of, "/")
		rename(h, &id, &exec, 0, out.Calls[n].At)
		if out.Calls[n].Of = id; of {
			out.Calls[n].Of += "/" + exec
		}
	}
	for n := range out.Instances {
		i := &out.Instances[n]
		if i.ID == "" {
			continue
		}
		i.Execs = slices.Clone(i.Execs)
		for m := range i.Execs {
			if e := &i.Execs[m]; e.Name != "" {
				e.Outputs = loggedApart(e.Outputs, e.ID, e.Name)
				e.ID = e.Name
			}
		}
		i.Outputs = loggedApart(i.Outputs, i.ID, i.Name)
		i.ID = i.Name
	}
	return &out
}

// loggedApart returns the outputs with the id of the use, if the logger got the id of the
// container or exec.
func loggedApart(o *harness.Outputs, id, use string) *harness.Outputs {
	if o == nil || o.LoggedAs != daemon.TaskNamespace+"/"+id {
		return o
	}
	out := *o
	out.LoggedAs = daemon.TaskNamespace + "/" + use
	return &out
}

// rename gives a container, and an exec in it, the id of the use that a pid or a time
// belongs to.
func rename(h *harness.History, container, exec *string, pid int, at time.Time) {
	i := useAt(h.Instances, at, func(i *harness.Instance) (is, has bool, begun time.Time) {
		has = pid != 0 && (int(i.PID) == pid ||
			slices.ContainsFunc(i.Execs, func(e harness.Exec) bool { return int(e.PID) == pid }))
		return i.ID == *container, i.ID == *container && has, i.Begun
	})
	if i == nil {
		return
	}
	*container = i.Name
	e := useAt(i.Execs, at, func(e *harness.Exec) (is, has bool, begun time.Time) {
		return e.ID == *exec, pid != 0 && int(e.PID) == pid, e.Begun
	})
	if *exec != "" && e != nil {
		*exec = cmp.Or(e.Name, e.ID)
	}
}

// useAt returns the use of an id that has a pid, or else the latest use that had begun at
// a time. It returns the first use if none had begun.
func useAt[T any](all []T, at time.Time, of func(*T) (is, has bool, begun time.Time)) (found *T) {
	for n := range all {
		is, has, begun := of(&all[n])
		if is && (found == nil || has || !at.Before(begun)) {
			found = &all[n]
		}
		if has {
			break
		}
	}
	return found
}
