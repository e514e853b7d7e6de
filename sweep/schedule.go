package sweep

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"github.com/shimquake/shimquake/catalogue"
	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/oracle/finding"
	"github.com/shimquake/shimquake/sweep/engine"
	"github.com/shimquake/shimquake/sweep/journal"
	"github.com/shimquake/shimquake/sweep/plan"
	"github.com/shimquake/shimquake/sweep/triage"
)

// Schedule runs the cases of a plan.
type Schedule struct {
	Engine *engine.Engine
	Head   journal.Head
	// Journal is where Run writes each result.
	Journal *journal.Journal
	// Done has the results of an earlier run, whose cases are not run again.
	Done []journal.Result
	// Known are findings whose cases run first. Such a case waits for its leak to vanish,
	// and at the end of a sweep no other case could use that time.
	Known []catalogue.Excuse
	// OnResult, if not nil, is called with each result, one at a time.
	OnResult func(journal.Result)
}

// Run runs the cases that have no result yet, and returns all results. When ctx ends, it
// returns the finished ones with [engine.ErrInterrupted].
func (s Schedule) Run(ctx context.Context) ([]journal.Result, error) {
	todo := s.todo()
	results, evidence := slices.Clone(s.Done), newKeeper(s.Head.Plan, s.Done)
	err := engine.Each(ctx, s.Engine, slices.Values(todo), s.one, func(t *engine.Task, r journal.Result) error {
		evidence.keep(t, s.Head.Plan.Specs[r.I], &r)
		if err := s.Journal.Add(&r); err != nil {
			return err
		}
		results = append(results, r)
		if s.OnResult != nil {
			s.OnResult(r)
		}
		return nil
	})
	if len(results) == len(s.Done)+len(todo) && errors.Is(err, engine.ErrInterrupted) {
		err = nil
	}
	return results, err
}

// todo returns the cases without a result: first the cases of known findings, then the
// others, spread over the plan.
func (s Schedule) todo() []int {
	done := make(map[int]bool, len(s.Done))
	for _, r := range journal.Own(s.Done) {
		done[r.I] = true
	}
	version, order := s.Head.Plan.Version, map[int]uint64{}
	var first, rest []int
	for i, spec := range s.Head.Plan.Specs {
		if !s.Head.Shard.Has(i) || done[i] {
			continue
		}
		order[i] = spec.Order()
		if slices.ContainsFunc(s.Known, func(k catalogue.Excuse) bool {
			return k.Applies(version) && triage.AppliesTo(k, spec)
		}) {
			first = append(first, i)
		} else {
			rest = append(rest, i)
		}
	}
	for _, part := range [][]int{first, rest} {
		slices.SortStableFunc(part, func(a, b int) int { return cmp.Compare(order[a], order[b]) })
	}
	return append(first, rest...)
}

// one runs a case until its fault has fired, at most Spec.MaxRuns times.
func (s Schedule) one(t *engine.Task, i int) (journal.Result, error) {
	spec := s.Head.Plan.Specs[i]
	c, err := spec.Case(s.Head.Plan.Containerd)
	if err != nil {
		return journal.Result{}, err
	}
	for n := 1; ; n++ {
		v, err := t.Run(c)
		if err != nil {
			return journal.Result{}, err
		}
		r, err := journal.ResultOf(i, v)
		if err != nil {
			return r, err
		}
		if n > 1 {
			r.Tries = n
		}
		if v.History != nil {
			r.Met = s.Head.Mark(v.History.Functions)
		}
		if v.Outcome != harness.Invalid || n == spec.MaxRuns() || !mayFire(v) {
			return r, r.Keep(v)
		}
	}
}

// mayFire reports whether another run of an invalid case may have a result. It returns
// false if a fault keeps containerd from booting, or if a process does not check an ended
// context. The next run would be the same. It also returns false if the fault fired,
// because the outcome is then the result.
func mayFire(v harness.Verdict) bool {
	missed := slices.ContainsFunc(v.Firings, func(f harness.Firing) bool { return f.Count == 0 })
	ignored := slices.ContainsFunc(v.Firings, func(f harness.Firing) bool { return f.Miss == harness.MissUnobserved })
	died := slices.ContainsFunc(v.Findings, func(f finding.Finding) bool { return f.Class == finding.ClassDaemon })
	return missed && !died && !v.HasProblem(harness.ByBoot) && !ignored
}

// keeper keeps the evidence of the first keptOf cases of a kind, and removes the rest.
type keeper map[string]int

// keptOf is the number of evidence folders that a sweep keeps for a kind of case.
const keptOf = 2

func newKeeper(p plan.Plan, done []journal.Result) keeper {
	k := keeper{}
	for _, r := range done {
		if r.Evidence != "" {
			k[triage.Kind(p.Specs[r.I], r)]++
		}
	}
	return k
}

// keep keeps the evidence of a result, or removes its name from the result.
func (k keeper) keep(t *engine.Task, s plan.Spec, r *journal.Result) {
	if r.Evidence == "" {
		return
	}
	if kind := triage.Kind(s, *r); k[kind] < keptOf {
		k[kind]++
		t.Keep(r.Evidence)
		return
	}
	r.Evidence = ""
}
