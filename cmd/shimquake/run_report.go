package main

import (
	"context"
	"errors"
	"sync"

	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/report"
	"github.com/shimquake/shimquake/sweep/engine"
)

// runReport is the report of a run in progress.
type runReport struct {
	*report.Writer
	ctx  context.Context
	n    int
	dir  string // the report's
	list string // the folder whose reports are listed; "" for none

	mu    sync.Mutex
	plain map[string]func() harness.Verdict // by the name of its run
}

// end finishes the report, and adds it to the list of reports.
func (r *runReport) end() error {
	err := r.End()
	if r.list != "" {
		err = errors.Join(err, report.WriteIndex(r.list))
	}
	return err
}

// without runs the workload of a violated case again without the fault, so that the
// report can show both. Cases with the same workload share this run.
func (r *runReport) without(t *engine.Task, v harness.Verdict) harness.Verdict {
	if v.Outcome != harness.Violated || v.Case.Faultless() || v.Evidence == "" {
		return harness.Verdict{}
	}
	c, key := report.WithoutFault(v.Case), report.WithoutName(v.Case)
	r.mu.Lock()
	run := r.plain[key]
	if run == nil {
		run = sync.OnceValue(func() harness.Verdict {
			v, _ := t.Run(c) // add skips an interrupted run
			return v
		})
		r.plain[key] = run
	}
	r.mu.Unlock()
	return run()
}

// add adds a case to the report, and the run without the fault if there is one.
func (r *runReport) add(v, plain harness.Verdict) error {
	r.n++
	c := caseOf(r.n, v)
	if plain.History == nil || r.ctx.Err() != nil {
		return r.Add(c)
	}
	c.Without = report.WithoutName(v.Case)
	r.Without(c.Without, plain)
	return errors.Join(report.KeepWithout(v.Evidence, report.WithoutFile, plain), r.Add(c))
}
