package judge

import (
	"slices"

	"github.com/shimquake/shimquake/fixtures/containerd/daemon"
	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/oracle/event"
)

// run is a history with what many rules ask, made once. Each use of an id has an id of
// its own, see usesApart.
type run struct {
	*harness.History
	namespace  string         // containerd's namespace of the workload
	downs      []event.Gap    // the times in which containerd was down
	shimDeaths []harness.Kill // by SIGKILL or by a panic
	effects    []effect       // of the faults
}

func runOf(h *harness.History) *run {
	h = usesApart(h)
	r := &run{History: h, namespace: daemon.TaskNamespace, downs: downs(h), shimDeaths: shimDeaths(h)}
	if h.Case.Workload.API == harness.CRI {
		r.namespace = daemon.CRINamespace
	}
	r.effects = effectsOf(r)
	return r
}

// alone returns the run of the bystander as that of a workload. Of the effects of faults,
// it has those on containerd and on the whole machine.
func (b *beside) alone() *run {
	h := b.h
	events := slices.DeleteFunc(slices.Clone(h.Events), func(e event.Task) bool {
		return e.Container != b.b.ID || e.Namespace != b.b.Namespace
	})
	return &run{
		History: &harness.History{
			Case: harness.Case{Plan: h.Case.Plan, Workload: harness.Workload{API: b.b.API}},
			Run: harness.Run{Version: h.Version, Began: h.Began, Done: b.b.Removed,
				Flushed: &harness.Flushed{Events: len(events), Reported: len(b.b.Reported)}},
			Instances: []harness.Instance{b.b.Instance},
			Log: harness.Log{Deaths: h.Deaths, Stops: h.Stops, Exits: h.Exits, Calls: b.b.Calls, Reported: b.b.Reported,
				Events: events, Gaps: h.Gaps},
			Before: h.Before, After: h.After,
		},
		namespace: b.b.Namespace, downs: h.downs,
		effects: slices.DeleteFunc(slices.Clone(h.effects), func(e effect) bool {
			return besideWorks[e.kind] == 0
		}),
	}
}
