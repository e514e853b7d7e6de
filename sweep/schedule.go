package sweep

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"slices"

	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/oracle/finding"
	"github.com/shimquake/shimquake/sweep/compare"
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
	// On is another containerd, on which Run runs Cases. Run then returns their further
	// runs, too.
	On    string
	Cases []int
	// Compare, if not nil, asks for further runs of cases whose findings differ.
	Compare *compare.Comparison
	// Draw, if not nil, has further cases. Run adds each one to the plan before it runs.
	Draw iter.Seq[plan.Spec]
	// OnResult, if not nil, is called with each result, one at a time.
	OnResult func(journal.Result)
}

// Run runs the cases that have no result yet, and returns all results. When ctx ends, it
// returns the finished ones with [engine.ErrInterrupted].
func (s *Schedule) Run(ctx context.Context) ([]journal.Result, error) {
	todo := s.todo()
	results, evidence := slices.Clone(s.Done), newKeeper(s.Head.Plan, s.Done)
	var failed error // to add a drawn case
	next, end := iter.Pull(func(yield func(compare.Job) bool) {
		for _, c := range todo {
			if !yield(s.job(c.spec, c.on)) {
				return
			}
		}
		if s.Draw == nil {
			return
		}
		for spec := range s.Draw {
			i := len(s.Head.Plan.Specs)
			s.Head.Plan.Specs = append(s.Head.Plan.Specs, spec)
			if failed = s.Journal.AddCase(spec); failed != nil || !yield(s.job(i, "")) {
				return
			}
		}
	})
	defer end()
	if s.Compare != nil {
		first, further := next, s.Compare.Further()
		defer further.End()
		next = func() (compare.Job, bool) {
			if j, ok := first(); ok {
				return j, true
			}
			return further.Next(ctx, results)
		}
	}
	type done struct {
		compare.Job
		ran []journal.Result
	}
	err := engine.Follow(ctx, s.Engine, next, func(t *engine.Task, j compare.Job) (done, error) {
		ran, err := j.Do(t)
		return done{j, ran}, err
	}, func(t *engine.Task, d done) error {
		for _, r := range d.ran {
			evidence.keep(t, s.Head.Plan.Specs[r.I], &r)
			if err := s.Journal.Add(&r); err != nil {
				return err
			}
			results = append(results, r)
		}
		d.Done()
		return nil
	})
	whole := s.Draw == nil && s.Compare == nil && len(results) == len(s.Done)+len(todo)
	if whole && errors.Is(err, engine.ErrInterrupted) {
		err = nil
	}
	return results, errors.Join(err, failed)
}

// job returns the first run of a case on a containerd.
func (s *Schedule) job(i int, on string) compare.Job {
	spec := s.Head.Plan.Specs[i]
	var r journal.Result
	return compare.Job{
		Do: func(t *engine.Task) (_ []journal.Result, err error) {
			r, err = s.one(t, i, spec, on)
			return []journal.Result{r}, err
		},
		Done: func() {
			if s.OnResult != nil {
				s.OnResult(r)
			}
		},
	}
}

// first is the first run of a case on a containerd; on is "" for the plan's own.
type first struct {
	spec int
	on   string
}

// todo returns the cases without a result, spread over the plan. Cases that waited long
// on another containerd are in the first half, because they would end last. A comparison
// begins with the cases without a run on A.
func (s *Schedule) todo() (todo []first) {
	done, ran, long := map[first]bool{}, map[int]bool{}, map[int]bool{}
	for _, r := range s.Done {
		done[first{r.I, r.On}] = true
		ran[r.I] = ran[r.I] || r.On != s.On
		long[r.I] = long[r.I] || compare.WaitedLong(r)
	}
	order := map[int]uint64{}
	for i, spec := range s.Head.Plan.Specs {
		if !s.Head.Shard.Has(i) || s.On != "" && !slices.Contains(s.Cases, i) {
			continue
		}
		order[i] = spec.Order()
		sides := []first{{i, s.On}}
		switch {
		case s.Compare != nil && i < s.Compare.Shared && !ran[i]:
			order[i], sides = 0, append(sides, first{i, s.Compare.A})
		case long[i]:
			order[i] /= 2
		}
		todo = append(todo, slices.DeleteFunc(sides, func(c first) bool { return done[c] })...)
	}
	slices.SortStableFunc(todo, func(a, b first) int { return cmp.Compare(order[a.spec], order[b.spec]) })
	return todo
}

// one runs a case until its fault has fired, and the machine did not stand still, at most
// Spec.MaxRuns times. It does not repeat a random case, because others follow.
func (s *Schedule) one(t *engine.Task, i int, spec plan.Spec, on string) (journal.Result, error) {
	c, err := spec.Case(cmp.Or(on, s.Head.Plan.Containerd))
	if err != nil {
		return journal.Result{}, err
	}
	for n := 1; ; n++ {
		v, err := t.Run(c)
		if err != nil {
			return journal.Result{}, err
		}
		r, err := journal.ResultOf(i, v)
		if err != nil && spec.CaseName() != "" { // this machine cannot run this case
			return journal.Result{I: i, On: on, Outcome: harness.Invalid, Why: v.ProblemsText()}, nil
		}
		if err != nil {
			return r, err
		}
		if r.On = on; n > 1 {
			r.Tries = n
		}
		if v.History != nil {
			r.Met = s.Head.Mark(v.History.Functions)
		}
		if v.Outcome != harness.Invalid || s.Head.Random || n == spec.MaxRuns() || !mayFire(v) {
			return r, r.Keep(v)
		}
	}
}

// mayFire reports whether another run of an invalid case may have a result. It may if the
// machine stood still. It returns false if a fault keeps containerd from booting, or if a
// process does not check an ended context. The next run would be the same. It also
// returns false if the fault fired, because the outcome is then the result.
func mayFire(v harness.Verdict) bool {
	if v.HasProblem(harness.ByStall) {
		return true
	}
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
