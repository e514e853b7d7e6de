package plan

import (
	"context"
	"slices"

	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/harness/plain"
	"github.com/shimquake/shimquake/progress"
	"github.com/shimquake/shimquake/sweep/engine"
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

// CheckPlain runs the plain cases and the cases of `more`, which have no fault, unless
// the cache has their runs. It runs only cases with an API that the options' workloads
// use. Each case must hold, or show only known bugs of the release. If one does not, the
// error is a *TraceError. CheckPlain returns the verdicts of the cases that this machine
// cannot run.
func CheckPlain(ctx context.Context, e *engine.Engine, o Options, more []harness.Case) (
	unable []harness.Verdict, err error) {
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
	err = engine.Each(ctx, e, slices.Values(cases), func(t *engine.Task, c harness.Case) (harness.Verdict, error) {
		c.Containerd = o.Containerd
		v, err := o.faultless(t, c)
		if err != nil || v.UnableHere() || acceptable(v) {
			return v, err
		}
		v, ok, err := orLostByChance(t, v, plainLike(c.Workload), func() (harness.Verdict, error) { return t.Run(c) })
		if err == nil && !ok {
			t.Keep(v.Evidence)
			err = &TraceError{c.Name, v}
		}
		return v, err
	}, func(_ *engine.Task, v harness.Verdict) error {
		if v.UnableHere() {
			unable = append(unable, v)
		}
		w.Step("")
		return nil
	})
	return unable, err
}
