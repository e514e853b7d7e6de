// Package pairs plans cases that single faults cannot reach:
//   - a crash during the recovery from a crash;
//   - crashes of containerd and of the shim, in either order;
//   - a client that cancels and retries immediately;
//   - two clients that delete concurrently.
package pairs

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/shimquake/shimquake/failpoints"
	"github.com/shimquake/shimquake/progress"
	"github.com/shimquake/shimquake/spelling"
	"github.com/shimquake/shimquake/sweep/engine"
	"github.com/shimquake/shimquake/sweep/plan"
)

// kinds are the kinds of pairs, in the order of the plan.
var kinds = []struct {
	name string
	plan func(*pairing) ([]plan.Spec, error)
}{
	{"recovery", (*pairing).recovery},
	{"shim", (*pairing).shim},
	{"retry", (*pairing).retry},
	{"deleters", (*pairing).concurrentDeletes},
}

// Kinds returns the names of the kinds of pairs.
func Kinds() (names []string) {
	for _, k := range kinds {
		names = append(names, k.name)
	}
	return names
}

// Make plans pairs of some kinds, or of "all". Of the options it uses only Containerd and
// Points, which must match the point of the last fault.
func Make(ctx context.Context, e *engine.Engine, o plan.Options, names []string) (plan.Plan, error) {
	o = o.WithDefaults()
	if slices.Contains(names, "all") {
		names = Kinds()
	}
	for _, name := range names {
		if !slices.Contains(Kinds(), name) {
			return plan.Plan{}, spelling.Unknown("--pairs", name, append(Kinds(), "all"))
		}
	}
	p := plan.Plan{Containerd: o.Containerd, Runs: runs}
	p.Options = strings.TrimSpace("--pairs " + strings.Join(names, ",") + " " + o.Narrowed())
	reported := progress.Begin(ctx, "planning pairs", 0, "traces")
	defer reported.End()
	w := &pairing{ctx: ctx, engine: e, containerd: o.Containerd, reported: reported}
	before := 0
	for _, kind := range kinds {
		if !slices.Contains(names, kind.name) {
			continue
		}
		all, err := kind.plan(w)
		if err != nil {
			return plan.Plan{}, fmt.Errorf("plan the pairs of %s: %w", kind.name, err)
		}
		before += len(all)
		for _, s := range all {
			if o.Keeps(s.Last().Point) {
				p.Specs = append(p.Specs, s)
			}
		}
	}
	if p.Specs = plan.Distinct(p.Specs); len(p.Specs) == 0 {
		return p, &plan.EmptyError{Filter: p.Options, Before: before, Options: p.Options}
	}
	return p.Complete(ctx)
}

// runs is the number of traces of a workload without a fault, and of each case with a
// first fault.
const runs = 3

// pairing has what the kinds of pairs need to plan their cases.
type pairing struct {
	ctx        context.Context
	engine     *engine.Engine
	containerd string
	reported   *progress.Work
}

// after is a case with one fault, the first of a pair, and the hits after it.
type after struct {
	first plan.Spec
	// later has the hits after the fault, one list for each run.
	later [][]plan.Hit
}

// faultless traces a workload without a fault, and returns the hits that all runs have.
func (w *pairing) faultless(workload string) ([]plan.Hit, error) {
	all := make([][]plan.Hit, runs)
	err := plan.TraceAll(w.ctx, w.engine, w.reported, runs, func(t *engine.Task, i int) (err error) {
		all[i], err = plan.Trace(t, plan.Options{Containerd: w.containerd}, workload)
		return err
	})
	if err != nil {
		return nil, err
	}
	return plan.Common(all), nil
}

// in returns a function that reports whether a hit is among these.
func in(passes []plan.Hit) func(plan.Hit) bool {
	has := make(map[plan.Hit]bool, len(passes))
	for _, p := range passes {
		has[p] = true
	}
	return func(p plan.Hit) bool { return has[p] }
}

// follow traces each of these first faults n times, and returns the hits after them. The
// list of a run that does not reach the first fault is nil.
func (w *pairing) follow(firsts []plan.Spec, n int) ([]after, error) {
	out := make([]after, len(firsts))
	for i, first := range firsts {
		out[i] = after{first, make([][]plan.Hit, n)}
	}
	err := plan.TraceAll(w.ctx, w.engine, w.reported, len(firsts)*n, func(t *engine.Task, i int) error {
		a := out[i/n]
		all, at, err := plan.TraceAfter(t, w.containerd, a.first)
		if err == nil && all != nil {
			a.later[i%n] = all[at+1:]
		}
		return err
	})
	return out, err
}

// spot is a point on a path.
type spot struct {
	failpoints.Point
	path string
}

func spotOf(p plan.Hit) spot { return spot{p.Point, p.Path} }

// firstOfEach returns, in their order, the first hit of each point on each path at which
// the action can happen.
func firstOfEach(passes []plan.Hit, action string, keep func(plan.Hit) bool) []plan.Hit {
	seen := map[spot]bool{}
	var out []plan.Hit
	for _, p := range passes {
		if at := spotOf(p); !seen[at] && p.Takes(action) && keep(p) {
			seen[at] = true
			out = append(out, p)
		}
	}
	return out
}

// heads returns the first hit of each function on each path, and all hits of ttrpc
// methods.
func heads(passes []plan.Hit) []plan.Hit {
	seen := map[spot]bool{}
	var out []plan.Hit
	for _, p := range passes {
		at := spotOf(p)
		at.Kind = ""
		if p.Moment != plan.AtMethod {
			at.Where = ""
		}
		if !seen[at] {
			seen[at] = true
			out = append(out, p)
		}
	}
	return out
}

// boots reports whether containerd reaches a point at every start, even if it has nothing
// to recover.
func boots(p plan.Hit) bool {
	function := p.Point.What[strings.LastIndex(p.Point.What, ".")+1:]
	return p.Path == "load" && slices.Contains(plan.Boots, function)
}
