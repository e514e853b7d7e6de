package sweep

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/shimquake/shimquake/catalogue"
	"github.com/shimquake/shimquake/fixes"
	"github.com/shimquake/shimquake/fixtures/containerd"
	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/oracle/finding"
	"github.com/shimquake/shimquake/progress"
	"github.com/shimquake/shimquake/quote"
	"github.com/shimquake/shimquake/sweep/compare"
	"github.com/shimquake/shimquake/sweep/journal"
	"github.com/shimquake/shimquake/sweep/plan"
	"github.com/shimquake/shimquake/sweep/triage"
)

// The limits of the runs that explain the findings of a sweep.
const (
	explainAlpha = 0.01
	explainRuns  = 20
)

// Explain runs the violated cases of a sweep on other containerds, and returns all
// results with these further runs. A changed containerd is compared with its base
// release. Then each case with a finding that a fix may close runs with this fix, and at
// last with all fixes. prepare builds a containerd.
func (s Schedule) Explain(ctx context.Context, known []catalogue.Excuse, results []journal.Result,
	prepare func(context.Context, string) error) ([]journal.Result, error) {
	p := s.Head.Plan
	if base := containerd.Base(p.Containerd, p.Version); base != "" {
		var violated []int
		for _, r := range journal.Own(results) {
			if r.Outcome == harness.Violated {
				violated = append(violated, r.I)
			}
		}
		var err error
		if results, err = s.explain(ctx, base, violated, results, prepare); err != nil {
			return results, err
		}
	}
	type run struct {
		on   string
		spec int
	}
	tried := map[run]bool{}
	for { // a case that still shows its finding runs with the fix of the next bug that matches
		may := triage.Closable(p, known, results, Causes(s.Head, results))
		for fix, cases := range may {
			on := p.Containerd + "+" + fix
			may[fix] = slices.DeleteFunc(cases, func(i int) bool { return tried[run{on, i}] })
			for _, i := range may[fix] {
				tried[run{on, i}] = true
			}
		}
		before := len(results)
		var err error
		if results, err = s.explainEach(ctx, may, results, prepare); err != nil {
			return results, err
		}
		if len(results) == before {
			break
		}
	}
	// One case may meet two bugs in turn, so that no fix alone closes its finding.
	return s.explain(ctx, p.Containerd+"+"+fixes.All,
		triage.StillWithAFix(p, known, results, Causes(s.Head, results)), results, prepare)
}

// explainEach runs cases with their fixes, all fixes at the same time. Most of the time
// such a case waits for a time limit.
func (s Schedule) explainEach(ctx context.Context, may map[string][]int, results []journal.Result,
	prepare func(context.Context, string) error) ([]journal.Result, error) {
	var all errgroup.Group
	more := make([][]journal.Result, len(may))
	for n, fix := range slices.Sorted(maps.Keys(may)) {
		all.Go(func() error {
			ran, err := s.explain(ctx, s.Head.Plan.Containerd+"+"+fix, may[fix], results, prepare)
			more[n] = ran[len(results):]
			return err
		})
	}
	err := all.Wait()
	return slices.Concat(append([][]journal.Result{results}, more...)...), err
}

// explain runs cases on another containerd, and again on both until each finding is
// decided.
func (s Schedule) explain(ctx context.Context, on string, cases []int, results []journal.Result,
	prepare func(context.Context, string) error) ([]journal.Result, error) {
	if len(cases) == 0 {
		return results, nil
	}
	err := prepare(ctx, on)
	patch := (*containerd.PatchError)(nil)
	if errors.As(err, &patch) || errors.Is(err, containerd.ErrBinaries) || errors.Is(err, containerd.ErrFetch) {
		var b quote.Text
		b.Line("shimquake: %d violated cases are not run on containerd %s, so only the catalogue explains them: %v",
			len(cases), on, err)
		fmt.Fprint(progress.Writer(ctx, os.Stderr), b.String())
		return results, nil
	}
	if err != nil {
		return results, err
	}
	c := comparison(s.Head.Plan, on)
	s.On, s.Cases, s.Done, s.Draw, s.Compare = on, cases, results, nil, &c
	w := progress.Begin(ctx, "violated cases on containerd "+on, len(cases), "cases")
	s.OnResult = func(journal.Result) { w.Step("") }
	defer w.End()
	return s.Run(ctx)
}

// comparison compares the findings of a sweep with the runs on another containerd: its
// base release, or one with a fix.
func comparison(p plan.Plan, on string) compare.Comparison {
	c := compare.Comparison{Plan: p, Shared: len(p.Specs), A: p.Containerd, B: on, Alpha: explainAlpha,
		Most: explainRuns, Of: triage.Families}
	if fix := fixIn(p, on); fix != "" {
		c.Of = func(found []finding.Finding) [][]triage.Signature { return triage.ClosedBy(fix, found) }
	}
	return c
}

// fixIn returns the fix that a containerd has beyond the plan's, [fixes.All] or "".
func fixIn(p plan.Plan, on string) string {
	name, ok := strings.CutPrefix(on, p.Containerd+"+")
	if _, err := fixes.Named(name, ""); !ok || err != nil {
		return ""
	}
	return name
}

// Causes says of each finding of a sweep whether its further runs show it.
func Causes(h journal.Head, results []journal.Result) (all []triage.Cause) {
	on := map[string]bool{}
	for _, r := range results {
		on[r.On] = r.On != "" && r.On != h.Plan.Containerd
	}
	for _, name := range slices.Sorted(maps.Keys(on)) {
		if !on[name] {
			continue
		}
		fix := fixIn(h.Plan, name)
		if fix != "" {
			all = append(all, notFired(results, name, fix)...)
		}
		for _, row := range comparison(h.Plan, name).Rows(results) {
			unsure := row.Kind == compare.Unsure
			for _, c := range row.Cases {
				for _, left := range row.Left {
					all = append(all, triage.Cause{Spec: c.Spec, Left: left, Fix: fix, Unsure: unsure && fix != "",
						Gone: row.Kind == compare.Closed || unsure && fix == ""})
				}
			}
		}
	}
	return all
}

// notFired returns causes for the cases in which the fault fires only without the fix. A
// run that is invalid for another reason does not say so. If the fix removes the fault's
// point, the runs prove nothing, and the next fix is tried.
func notFired(results []journal.Result, on, fix string) (all []triage.Cause) {
	const fired harness.ProblemKind = "" // or invalid for another reason
	why := map[int]harness.ProblemKind{}
	for _, r := range results {
		if r.On != on {
			continue
		}
		kind := fired
		if len(r.Problems) == 1 && (r.Problems[0] == harness.ByMiss || r.Problems[0] == harness.ByInput) {
			kind = r.Problems[0]
		}
		if was, ran := why[r.I]; !ran || was != fired {
			why[r.I] = kind
		}
	}
	for _, r := range journal.Own(results) {
		if kind, ran := why[r.I]; ran && kind != fired {
			for _, left := range triage.ClosedBy(fix, r.Found) {
				all = append(all, triage.Cause{Spec: r.I, Left: left[0], Fix: fix, Unsure: kind == harness.ByMiss})
			}
		}
	}
	return all
}
