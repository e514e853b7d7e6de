// Package random draws plans of several faults and runs them.
package random

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/progress"
	"github.com/shimquake/shimquake/sweep/engine"
	"github.com/shimquake/shimquake/sweep/journal"
	"github.com/shimquake/shimquake/sweep/plan"
)

// Random draws plans of several faults and runs them. rapid draws the n-th plan from the
// seed Seed+n-1 and the faults of Base. So the same seed and the same Base give the same
// plan.
type Random struct {
	Engine *engine.Engine
	// Base is a plan of single faults. Random plans use only faults at hits that every
	// trace has.
	Base plan.Plan
	// Seed is the seed of the first plan. It must not be 0.
	Seed uint64
	// For is the time after which Random begins no new plan. Default: unlimited.
	For time.Duration
	// Plans is the largest number of plans. Default: unlimited.
	Plans int
	// Keep, if not nil, stores the history of a plan after its run, for a report, and
	// returns the place of the history.
	Keep func(harness.Verdict) (harness.Part, error)
	// OnDraw, if not nil, is called with each plan after its run, one at a time.
	OnDraw func(Draw) error
}

// Draw is a drawn plan with the result of its run.
type Draw struct {
	Seed uint64    `json:"seed"`
	Spec plan.Spec `json:"spec"`
	journal.Result
}

// Run draws and runs plans until For is over or Plans have run. It returns them in the
// order of their seeds. When ctx ends, it returns the finished ones with
// [engine.ErrInterrupted].
func (r *Random) Run(ctx context.Context) ([]Draw, error) {
	if r.Seed == 0 || r.For <= 0 && r.Plans <= 0 {
		return nil, errors.New("random plans need a seed that is not 0, and a limit: a time or a number of plans")
	}
	faults := faultsOf(r.Base)
	if len(faults) == 0 {
		return nil, &plan.EmptyError{Filter: "--random", Before: len(r.Base.Specs), Options: r.Base.Options}
	}
	generator := faults.specs()
	until := time.Now().Add(r.For)
	reported := progress.Begin(ctx, "random plans", max(r.Plans, 0), "plans")
	defer reported.End()
	if r.For > 0 {
		reported.Until(until)
	}
	seeds := func(yield func(uint64) bool) {
		for n := uint64(0); r.Plans <= 0 || n < uint64(r.Plans); n++ {
			if r.For > 0 && !time.Now().Before(until) || !yield(r.Seed+n) {
				return
			}
		}
	}
	var draws []Draw
	violated := 0
	err := engine.Each(ctx, r.Engine, seeds, func(t *engine.Task, seed uint64) (Draw, error) {
		return r.run(t, Draw{Seed: seed, Spec: generator.Example(int(seed))})
	}, func(_ *engine.Task, d Draw) error {
		draws = append(draws, d)
		if d.Outcome == harness.Violated {
			violated++
		}
		reported.Step(fmt.Sprintf("%d violated", violated))
		if r.OnDraw != nil {
			return r.OnDraw(d)
		}
		return nil
	})
	slices.SortFunc(draws, func(a, b Draw) int { return cmp.Compare(a.Seed, b.Seed) })
	for i := range draws {
		draws[i].I = i
	}
	return draws, err
}

// run runs a drawn plan. run does not repeat a plan whose faults did not fire, because
// other plans follow. It keeps no evidence, because a minimised case gets its own.
func (r *Random) run(t *engine.Task, d Draw) (Draw, error) {
	c, err := d.Spec.Case(r.Base.Containerd)
	if err != nil {
		return d, err
	}
	v, err := t.Run(c)
	if err != nil {
		return d, err
	}
	d.Result, err = journal.ResultOf(0, v)
	d.Evidence = ""
	if err == nil && r.Keep != nil {
		d.History, err = r.Keep(v)
	}
	return d, err
}
