package judge

import (
	"iter"
	"slices"
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
	// What was observed before the first id was used again, and the pids of the shims with
	// probes that received calls about an id until then.
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

// rpcs returns the hits about a container at the entry or the exit of a call, such as
// shim:Task.Create:exit. No call about an exec is among them.
func (h *run) rpcs(id, at string) iter.Seq[*failpoints.Hit] {
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
	for hit := range h.rpcs(id, "shim:"+call+":exit") {
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
