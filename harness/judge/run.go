package judge

import (
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
