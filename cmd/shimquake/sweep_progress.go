package main

import (
	"cmp"
	"context"
	"fmt"

	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/progress"
	"github.com/shimquake/shimquake/sweep"
	"github.com/shimquake/shimquake/sweep/journal"
	"github.com/shimquake/shimquake/sweep/plan"
	"github.com/shimquake/shimquake/sweep/triage"
)

// sweepProgress prints the progress of a sweep and its findings so far.
type sweepProgress struct {
	*progress.Work
	kind map[string]bool // The kinds of findings so far.
	n    map[harness.Outcome]int
}

func newSweepProgress(ctx context.Context, s sweep.Schedule) *sweepProgress {
	w := progress.Begin(ctx, "sweep of "+cmp.Or(s.On, s.Head.Plan.Version), s.Head.Planned()-s.Head.Done(s.Done), "cases")
	return &sweepProgress{w, map[string]bool{}, map[harness.Outcome]int{}}
}

func (p *sweepProgress) step(s plan.Spec, r journal.Result) {
	p.n[r.Outcome]++
	if r.Outcome == harness.Violated {
		p.kind[triage.Kind(s, r)] = true
	}
	p.Step(fmt.Sprintf("%d violated (%d kinds), %d invalid",
		p.n[harness.Violated], len(p.kind), p.n[harness.Invalid]))
}
