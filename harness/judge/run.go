package judge

import (
	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/oracle/event"
)

// run is a history with what many rules ask, made once. Each use of an id has an id of
// its own, see usesApart.
type run struct {
	*harness.History
	downs      []event.Gap    // the times in which containerd was down
	shimDeaths []harness.Kill // by SIGKILL or by a panic
	effects    []effect       // of the faults
}

func runOf(h *harness.History) *run {
	h = usesApart(h)
	r := &run{History: h, downs: downs(h), shimDeaths: shimDeaths(h)}
	r.effects = effectsOf(r)
	return r
}
