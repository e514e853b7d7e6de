package plan

import (
	"context"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/harness/plain"
	"github.com/shimquake/shimquake/progress"
)

// plainLike returns the workloads of sweeps whose known findings may also show in this
// plain case. A plain case has no fault.
func plainLike(w harness.Workload) []string {
	like := []string{map[harness.API]string{harness.TaskAPI: "task", harness.CRI: "cri"}[w.WithDefaults().API]}
	if w.Grouped {
		like = append(like, "grouped")
	}
	return like
}

// CheckPlain runs the plain cases and the cases of `more`, which have no fault. It runs
// only cases with an API that the options' workloads use, and at most parallel at once.
// Each case must hold, or show only known bugs of the release. If one does not, the error
// is a *TraceError. CheckPlain returns the verdicts of the cases that this machine cannot
// run.
func CheckPlain(ctx context.Context, e Engine, o Options, more []harness.Case, parallel int) (
	[]harness.Verdict, error) {
	o = o.WithDefaults()
	if err := o.Check(); err != nil {
		return nil, err
	}
	cases := slices.DeleteFunc(append(plain.Cases(), more...), func(c harness.Case) bool {
		api := c.Workload.WithDefaults().API
		return !slices.ContainsFunc(o.Workloads, func(name string) bool { return API(name) == api })
	})
	w := progress.Begin(ctx, "cases without a fault", len(cases), "cases")
	defer w.End()
	verdicts := make([]harness.Verdict, len(cases))
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(max(parallel, 1))
	for i, c := range cases {
		g.Go(func() error {
			if err := ctx.Err(); err != nil { // the context ended while the case waited for its turn
				return err
			}
			c.Containerd = o.Containerd
			v := e.Run(ctx, c)
			if ended := ctx.Err(); ended != nil {
				return ended // the verdict of an interrupted run has no meaning
			}
			if verdicts[i] = v; v.UnableHere() || v.Outcome != harness.Held && v.CompareWithKnown() == nil {
				w.Step("")
				return nil
			}
			rerun := func() harness.Verdict { return e.Run(ctx, c) }
			if v, ok := orLostByChance(ctx, v, plainLike(c.Workload), rerun); !ok {
				return &TraceError{c.Name, v}
			}
			w.Step("")
			return ctx.Err()
		})
	}
	err := g.Wait()
	return slices.DeleteFunc(verdicts, func(v harness.Verdict) bool { return !v.UnableHere() }), err
}
