package mutation

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/sweep/plan"
	"github.com/shimquake/shimquake/sweep/triage"
)

// Result is how a mutation was found.
type Result struct {
	ID string
	// Plain is set where the workload itself did not hold, without a fault.
	Plain bool
	// New are the clusters that the untouched source has not.
	New []triage.Cluster
	// Wider is, where nothing new is left, a case that holds on the untouched source each
	// time: a known window has become wider.
	Wider *plan.Spec
	// Cases is how many were run.
	Cases int
}

// Found reports whether the sweep found the mutation.
func (r Result) Found() bool { return r.Plain || len(r.New) > 0 || r.Wider != nil }

// String is a line for a table.
func (r Result) String() string {
	switch {
	case r.Plain:
		return fmt.Sprintf("found    %-28s without a fault", r.ID)
	case len(r.New) > 0:
		names := make([]string, len(r.New))
		for i, c := range r.New {
			names[i] = fmt.Sprintf("%s (%d)", c.Name, c.Cases)
		}
		return fmt.Sprintf("found    %-28s by %d cases: %s", r.ID, r.Cases, strings.Join(names, ", "))
	case r.Wider != nil:
		return fmt.Sprintf("found    %-28s by %d cases: what is known, where it is not: %s", r.ID, r.Cases, r.Wider)
	}
	return fmt.Sprintf("NOT FOUND %-27s by %d cases", r.ID, r.Cases)
}

// Test sweeps a mutation, and compares what it leaves with what the untouched source
// leaves.
func (t *Tester) Test(ctx context.Context, m Mutation) (Result, error) {
	out := Result{ID: m.ID}
	base := Swept{}
	if m.Plain != Broken {
		var err error
		if base, err = t.Untouched(ctx, m.Sweep); err != nil {
			return out, err
		}
		if base.Plain != nil {
			return out, fmt.Errorf("the untouched source must hold without a fault: %v", base.Plain)
		}
	}
	broken, err := t.Sweep(ctx, m, m.Sweep, t.enough(base))
	if err != nil {
		return out, err
	}
	if broken.Plain != nil {
		if out.Plain = m.Plain == Broken; !out.Plain {
			err = fmt.Errorf("%s must hold without a fault: %v", m.ID, broken.Plain)
		}
		return out, err
	}
	out.Cases = broken.Report.Executed
	out.New = unlike(broken.Report.New, base.Report.New)
	if len(out.New) == 0 {
		out.Wider, err = t.wider(ctx, m, base, broken)
	}
	return out, err
}

// enough counts the cases that are violated and hold on the untouched source.
func (t *Tester) enough(base Swept) func(Case) bool {
	seen, enough := 0, cmp.Or(t.Enough, 5)
	return func(c Case) bool {
		if base.turned(c) {
			seen++
		}
		return seen >= enough
	}
}

// turned reports whether a case that holds on this source is violated on another.
func (s Swept) turned(c Case) bool {
	here, ok := s.Cases[c.Spec.Key()]
	return ok && here.Outcome == harness.Held && c.Outcome == harness.Violated
}

// unlike are the clusters that leave something else than all of the others.
func unlike(some, others []triage.Cluster) []triage.Cluster {
	return slices.DeleteFunc(slices.Clone(some), func(c triage.Cluster) bool {
		return slices.ContainsFunc(others, func(o triage.Cluster) bool { return slices.Equal(c.Left, o.Left) })
	})
}

// replays is how often a case must be violated again on the one source, and hold again on
// the other, so that it is no race.
const replays = 2

// mostReplayed is how many cases are replayed, the quickest first; one that stands the
// trial is enough.
const mostReplayed = 5

// wider is a case that is violated on the mutated source and holds on the untouched one,
// each time; nil where there is none.
func (t *Tester) wider(ctx context.Context, m Mutation, base, broken Swept) (*plan.Spec, error) {
	var suspects []Case
	for _, c := range broken.Cases {
		if base.turned(c) {
			suspects = append(suspects, c)
		}
	}
	slices.SortFunc(suspects, func(a, b Case) int {
		return cmp.Or(cmp.Compare(a.Millis, b.Millis), strings.Compare(a.Spec.Key(), b.Spec.Key()))
	})
	for _, c := range suspects[:min(len(suspects), mostReplayed)] {
		var g errgroup.Group
		var bad, good bool
		g.Go(func() (err error) { bad, err = t.always(ctx, m, c.Spec, harness.Violated); return })
		g.Go(func() (err error) { good, err = t.always(ctx, Untouched, c.Spec, harness.Held); return })
		if err := g.Wait(); err != nil {
			return nil, err
		}
		if bad && good {
			return &c.Spec, nil
		}
	}
	return nil, nil
}

// always reports whether a case has the same outcome each time.
func (t *Tester) always(ctx context.Context, m Mutation, s plan.Spec, want harness.Outcome) (bool, error) {
	dir, err := Tree(ctx, m)
	if err != nil {
		return false, err
	}
	c, err := s.Case("src:" + dir)
	if err != nil {
		return false, err
	}
	for range replays {
		if v := t.Runner.Run(ctx, c); v.Outcome != want {
			return false, ctx.Err()
		}
	}
	return true, nil
}
