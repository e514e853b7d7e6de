package sweep

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"

	"github.com/shimquake/shimquake/catalogue"
	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/oracle"
)

// tries is how often a case runs that shows nothing: what a busy machine does differently once it seldom does three times.
const tries = 3

// Schedule runs the cases of a plan.
type Schedule struct {
	Engine Engine
	Head   Head
	// Journal gets each result as it comes.
	Journal *Journal
	// Done are the results that there are already.
	Done []Result
	// Parallel is how many cases work at once. Default: 1.
	Parallel int
	// Slots, if any, are those that a Runner's cases yield while they only wait: there are more worlds then than Parallel.
	Slots Slots
	// Known are findings whose cases run first: they wait for what does not go away, and that wait should not come when nothing else is left to do.
	Known []catalogue.Finding
	// OnResult, if any, is told of each result; one at a time.
	OnResult func(Result)
}

// ErrInterrupted says that the sweep was ended before it was through; what has been done is in the journal.
var ErrInterrupted = errors.New("the sweep was ended")

// Run runs what has no result yet, and returns all results. When ctx ends it returns those so far with ErrInterrupted.
func (s Schedule) Run(ctx context.Context) ([]Result, error) {
	running, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	work, ended := make(chan int), make(chan Result)
	todo := s.todo()
	var workers sync.WaitGroup
	workers.Go(func() { // feeds the others
		defer close(work)
		for _, i := range todo {
			select {
			case work <- i:
			case <-running.Done():
				return
			}
		}
	})
	for range s.Slots.worlds(s.Parallel) {
		workers.Go(func() {
			for i := range work {
				s.Slots.take()
				r, err := s.one(running, i)
				s.Slots.give()
				if err != nil {
					stop(err)
					return
				}
				ended <- r
			}
		})
	}
	go func() {
		workers.Wait()
		close(ended)
	}()
	results, evidence := slices.Clone(s.Done), newKeeper(s.Head.Plan, s.Done)
	for r := range ended { // also after a failure: nobody must wait for ever
		if err := errors.Join(evidence.keep(s.Head.Plan.Specs[r.I], &r), s.Journal.Add(r)); err != nil {
			stop(err)
			continue
		}
		results = append(results, r)
		if s.OnResult != nil {
			s.OnResult(r)
		}
	}
	switch cause := context.Cause(running); {
	case len(results) == len(s.Done)+len(todo):
		return results, nil
	case ctx.Err() != nil:
		return results, ErrInterrupted
	default:
		return results, cause
	}
}

// todo are the cases without a result: first those that known findings apply to, and otherwise spread.
func (s Schedule) todo() []int {
	done := make(map[int]bool, len(s.Done))
	for _, r := range s.Done {
		done[r.I] = true
	}
	specs := s.Head.Plan.Specs
	var todo []int
	for i := range specs {
		if s.Head.Shard.Has(i) && !done[i] {
			todo = append(todo, i)
		}
	}
	waits := make(map[int]bool, len(todo))
	for _, i := range todo {
		waits[i] = slices.ContainsFunc(s.Known, func(k catalogue.Finding) bool { return k.Applies(s.Head.Plan.Version) && appliesAt(k, specs[i]) })
	}
	slices.SortFunc(todo, func(a, b int) int {
		return cmp.Or(btoi(waits[b])-btoi(waits[a]), cmp.Compare(specs[a].order(), specs[b].order()), cmp.Compare(a, b))
	})
	return todo
}

// one runs a case until its fault has fired.
func (s Schedule) one(ctx context.Context, i int) (Result, error) {
	c, err := s.Head.Plan.Specs[i].Case(s.Head.Plan.Containerd)
	if err != nil {
		return Result{}, err
	}
	r := Result{I: i}
	for n := 1; ; n++ {
		if ctx.Err() != nil {
			return r, ErrInterrupted
		}
		v := s.Engine.Run(ctx, c)
		if ctx.Err() != nil { // it was ended in its midst
			return r, errors.Join(ErrInterrupted, os.RemoveAll(v.Evidence))
		}
		if v.Unable() {
			return r, fmt.Errorf("this machine cannot run the sweep: %s", v.Why())
		}
		r.Outcome, r.Found, r.Evidence, r.Millis = v.Outcome, v.Violations(), v.Evidence, v.Took.Milliseconds()
		r.Why, r.Miss = whyInvalid(v)
		if n > 1 {
			r.Tries = n
		}
		if v.Outcome != harness.Invalid || n == tries || !mayFire(v) {
			return r, nil
		}
		if err := os.RemoveAll(v.Evidence); err != nil {
			return r, err
		}
	}
}

// mayFire says whether an invalid case is worth another try. A containerd that a fault keeps from booting will not boot the next
// time either, and a process that does not look at a context there will not look. One that fired is never tried again: what it came to is its result.
func mayFire(v harness.Verdict) bool {
	missed := slices.ContainsFunc(v.Firings, func(f harness.Firing) bool { return f.Count == 0 })
	died := slices.ContainsFunc(v.Findings, func(f oracle.Finding) bool { return f.Class == oracle.ClassDaemon })
	return missed && !died && !v.HasProblem(harness.ByBoot) && !slices.ContainsFunc(v.Firings, func(f harness.Firing) bool { return f.Miss == harness.MissUnobserved })
}

// whyInvalid says why a case shows nothing, and whether that is a miss that nobody can help. Of a fault that did not fire that is what is known of it; what was
// hit instead is in the evidence.
func whyInvalid(v harness.Verdict) (string, harness.Miss) {
	if v.Outcome != harness.Invalid {
		return "", ""
	}
	missed := slices.DeleteFunc(slices.Clone(v.Firings), func(f harness.Firing) bool { return f.Count > 0 })
	if len(missed) == 0 {
		return v.Why(), ""
	}
	miss := missed[0].Miss
	var why []string
	for _, f := range missed {
		why = append(why, f.Proof)
		if f.Miss == "" {
			miss = "" // one that nothing explains
		}
	}
	return "not fired: " + strings.Join(why, "; "), miss
}

// keeper keeps the evidence of the first few cases of a kind, and throws the rest away.
type keeper map[string]int

// keptOf is how many folders of a kind are kept.
const keptOf = 2

func newKeeper(p Plan, done []Result) keeper {
	k := keeper{}
	for _, r := range done {
		if r.Evidence != "" {
			k[kindOfCase(p.Specs[r.I], r)]++
		}
	}
	return k
}

// kindOfCase is what cases of one finding have in common: what they leave, when what has happened.
func kindOfCase(s Spec, r Result) string { return when(s) + ": " + r.Kind() }

func (k keeper) keep(s Spec, r *Result) error {
	if r.Evidence == "" {
		return nil
	}
	if kind := kindOfCase(s, *r); k[kind] < keptOf {
		k[kind]++
		return nil
	}
	err := os.RemoveAll(r.Evidence)
	r.Evidence = ""
	return err
}

// Kind is what cases have in common of which a few are enough to look at.
func (r Result) Kind() string {
	if r.Outcome == harness.Invalid {
		return "invalid " + plain(r.Why)
	}
	left, _ := signatures(r.Found, false)
	return signature(left)
}
