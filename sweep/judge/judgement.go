package judge

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/sweep"
)

// Judgement says how a mutation was found.
type Judgement struct {
	ID string
	// Plain: the workload itself did not hold, without a fault.
	Plain bool
	// New are the findings that the untouched source has not, as the sweep tells them.
	New []sweep.Group
	// Wider is, where nothing new is left, a case that holds on the untouched source each time: a known window has become wider.
	Wider *sweep.Spec
	Cases int
}

// Found says whether the sweep found the mutation.
func (j Judgement) Found() bool { return j.Plain || len(j.New) > 0 || j.Wider != nil }

// String is a line for a table.
func (j Judgement) String() string {
	switch {
	case j.Plain:
		return fmt.Sprintf("found    %-28s without a fault", j.ID)
	case len(j.New) > 0:
		names := make([]string, len(j.New))
		for i, g := range j.New {
			names[i] = fmt.Sprintf("%s (%d)", g.Name, g.Cases)
		}
		return fmt.Sprintf("found    %-28s by %d cases: %s", j.ID, j.Cases, strings.Join(names, ", "))
	case j.Wider != nil:
		return fmt.Sprintf("found    %-28s by %d cases: what is known, where it is not: %s", j.ID, j.Cases, j.Wider)
	}
	return fmt.Sprintf("NOT FOUND %-27s by %d cases", j.ID, j.Cases)
}

// Judge sweeps a mutation, and compares what it leaves with what the untouched source leaves.
func (j *Judge) Judge(ctx context.Context, m Mutation) (Judgement, error) {
	out := Judgement{ID: m.ID}
	base := Swept{}
	if m.Plain != Broken {
		var err error
		if base, err = j.Untouched(ctx, m.Sweep); err != nil {
			return out, err
		}
		if base.Plain != nil {
			return out, fmt.Errorf("the untouched source must hold without a fault: %v", base.Plain)
		}
	}
	broken, err := j.Sweep(ctx, m, m.Sweep, j.enough(base))
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
		out.Wider, err = j.wider(ctx, m, base, broken)
	}
	return out, err
}

// enough counts the cases that are violated and hold on the untouched source.
func (j *Judge) enough(base Swept) func(sweep.Spec, sweep.Result) bool {
	seen, enough := 0, j.Enough
	if enough == 0 {
		enough = 5
	}
	return func(s sweep.Spec, r sweep.Result) bool {
		if base.turned(s, r) {
			seen++
		}
		return seen >= enough
	}
}

// turned says whether a case that holds on this source is violated on another.
func (s Swept) turned(spec sweep.Spec, r sweep.Result) bool {
	here, ok := s.Cases[spec]
	return ok && here.Outcome == harness.Held && r.Outcome == harness.Violated
}

// unlike are the groups that leave something else than all of the others.
func unlike(some, others []sweep.Group) []sweep.Group {
	return slices.DeleteFunc(slices.Clone(some), func(g sweep.Group) bool {
		return slices.ContainsFunc(others, func(o sweep.Group) bool { return slices.Equal(g.Left, o.Left) })
	})
}

// replays is how often a case must be violated again on the one source, and hold again on the other, so that it is no race.
const replays = 2

// mostReplayed is how many cases are replayed, the quickest first; one that stands the trial is enough.
const mostReplayed = 5

// wider is a case that is violated on the mutated source and holds on the untouched one, each time; nil where there is none.
func (j *Judge) wider(ctx context.Context, m Mutation, base, broken Swept) (*sweep.Spec, error) {
	var suspects []sweep.Spec
	for spec, r := range broken.Cases {
		if base.turned(spec, r) {
			suspects = append(suspects, spec)
		}
	}
	slices.SortFunc(suspects, func(a, b sweep.Spec) int {
		return cmp.Or(cmp.Compare(broken.Cases[a].Millis, broken.Cases[b].Millis), strings.Compare(a.String(), b.String()))
	})
	for _, s := range suspects[:min(len(suspects), mostReplayed)] {
		var g errgroup.Group
		var bad, good bool
		g.Go(func() (err error) { bad, err = j.always(ctx, m, s, harness.Violated); return })
		g.Go(func() (err error) { good, err = j.always(ctx, Untouched, s, harness.Held); return })
		if err := g.Wait(); err != nil {
			return nil, err
		}
		if bad && good {
			return &s, nil
		}
	}
	return nil, nil
}

// always says whether a case has the same outcome each time.
func (j *Judge) always(ctx context.Context, m Mutation, s sweep.Spec, want harness.Outcome) (bool, error) {
	dir, err := Tree(ctx, m)
	if err != nil {
		return false, err
	}
	c, err := s.Case("src:" + dir)
	if err != nil {
		return false, err
	}
	for range replays {
		if v := j.Runner.Run(ctx, c); v.Outcome != want {
			return false, ctx.Err()
		}
	}
	return true, nil
}
