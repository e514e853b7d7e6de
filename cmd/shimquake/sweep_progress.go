package main

import (
	"fmt"

	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/sweep"
	"github.com/shimquake/shimquake/sweep/journal"
	"github.com/shimquake/shimquake/sweep/plan"
	"github.com/shimquake/shimquake/sweep/triage"
)

// sweepProgress is a progress that tells what was found so far, by kind.
type sweepProgress struct {
	*progress
	kind map[string]bool
	n    map[harness.Outcome]int
}

func newSweepProgress(s sweep.Schedule) *sweepProgress {
	left := 0
	for i := range s.Head.Plan.Specs {
		if s.Head.Shard.Has(i) {
			left++
		}
	}
	return &sweepProgress{newProgress(left - len(s.Done)), map[string]bool{}, map[harness.Outcome]int{}}
}

func (p *sweepProgress) step(s plan.Spec, r journal.Result) {
	p.n[r.Outcome]++
	if r.Outcome == harness.Violated {
		p.kind[triage.Kind(s, r)] = true
	}
	p.tell(fmt.Sprintf("%d violated (%d kinds), %d invalid", p.n[harness.Violated], len(p.kind), p.n[harness.Invalid]))
}
