package sweep

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/shimquake/shimquake/harness"
)

// PairKinds are the kinds of pairs, in the order in which they are planned.
var PairKinds = []string{"recovery", "shim", "retry", "deleters"}

// pairMakers plan a kind each.
var pairMakers = map[string]func(*pairing) ([]Spec, error){
	"recovery": (*pairing).recovery,
	"shim":     (*pairing).shim,
	"retry":    (*pairing).retry,
	"deleters": (*pairing).deleters,
}

// MakePairs plans what the sweep of single faults cannot reach: a crash during the recovery from a crash, crashes of containerd and of the shim in
// either order, a client that cancels and comes back at once, and two clients that delete at once. Of the options only Containerd and Points are
// used: Points must match the point that varies.
func MakePairs(ctx context.Context, e Engine, o Options, kinds []string) (Plan, error) {
	o = o.withDefaults()
	if slices.Contains(kinds, "all") {
		kinds = PairKinds
	}
	for _, k := range kinds {
		if pairMakers[k] == nil {
			return Plan{}, unknown("--pairs", k, append(slices.Clone(PairKinds), "all"))
		}
	}
	p := Plan{Containerd: o.Containerd, Options: "--pairs " + strings.Join(kinds, ","), Runs: pairRuns}
	if text := o.Points.String(); text != "" {
		p.Options += fmt.Sprintf(" --points %q", text)
	}
	w := &pairing{ctx: ctx, engine: e, containerd: o.Containerd}
	before := 0
	for _, kind := range PairKinds {
		if !slices.Contains(kinds, kind) {
			continue
		}
		specs, err := pairMakers[kind](w)
		if err != nil {
			return Plan{}, fmt.Errorf("plan the pairs of %s: %w", kind, err)
		}
		before += len(specs)
		for _, s := range specs {
			if o.Points.MatchString(s.Point) && !slices.Contains(p.Specs, s) {
				p.Specs = append(p.Specs, s)
			}
		}
	}
	if len(p.Specs) == 0 {
		return p, &EmptyError{Filter: p.Options, Before: before, Options: p.Options}
	}
	var err error
	if p.Version, p.Subject, err = Identify(ctx, o.Containerd); err != nil {
		return p, err
	}
	if err := p.locate(ctx); err != nil {
		return p, err
	}
	p.Digest = p.digest()
	return p, p.check("plan")
}

// pairRuns is how often a workload, and what comes after a first fault, is traced.
const pairRuns = 3

// tracesAtOnce is how many worlds trace at the same time.
const tracesAtOnce = 6

// pairing is the planning of pairs.
type pairing struct {
	ctx        context.Context
	engine     Engine
	containerd string
}

// after is what a case passes after its only fault.
type after struct {
	first Spec
	// later is what is passed after it: in each of the runs.
	later [][]Pass
}

// plain traces a workload without a fault, pairRuns times, and returns the passes that all runs have on the same path, and then those of the first
// run that not all have; and which are which.
func (w *pairing) plain(workload string) (passes []Pass, steady func(Pass) bool, err error) {
	runs := make([][]Pass, pairRuns)
	var g errgroup.Group
	for i := range runs {
		g.Go(func() (err error) {
			runs[i], err = trace(w.ctx, w.engine, w.containerd, workload)
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return nil, nil, err
	}
	always := map[string]bool{}
	for _, p := range common(runs) {
		always[p.key()] = true
		passes = append(passes, p)
	}
	steady = func(p Pass) bool { return always[p.key()] }
	for _, p := range runs[0] {
		if !steady(p) {
			passes = append(passes, p)
		}
	}
	return passes, steady, nil
}

// common are the passes of the first run that all others have.
func common(runs [][]Pass) []Pass {
	has := make([]map[string]bool, len(runs))
	for i, run := range runs {
		has[i] = map[string]bool{}
		for _, p := range run {
			has[i][p.key()] = true
		}
	}
	var out []Pass
	for _, p := range runs[0] {
		if !slices.ContainsFunc(has, func(h map[string]bool) bool { return !h[p.key()] }) {
			out = append(out, p)
		}
	}
	return out
}

func (p Pass) key() string { return fmt.Sprintf("%s %s %d %s", p.Point, p.Moment, p.Nth, p.Path) }

// follow traces what is passed after each of these first faults, n times each. A first fault that a run does not reach is told by a nil list.
func (w *pairing) follow(firsts []Spec, n int) ([]after, error) {
	out := make([]after, len(firsts))
	var g errgroup.Group
	g.SetLimit(tracesAtOnce)
	for i, first := range firsts {
		out[i] = after{first, make([][]Pass, n)}
		for k := range n {
			g.Go(func() error {
				var err error
				out[i].later[k], err = w.later(first)
				return err
			})
		}
	}
	return out, g.Wait()
}

// later is what a case passes after its fault; nil where the fault does not fire.
func (w *pairing) later(first Spec) ([]Pass, error) {
	c, err := first.Case(w.containerd)
	if err != nil {
		return nil, err
	}
	c.Workload.Settle = time.Second // what is left, the sweep will tell
	for range tries {
		t, err := w.engine.Trace(w.ctx, c)
		if w.ctx.Err() != nil {
			return nil, ErrInterrupted
		}
		if t.Verdict.Unable() {
			return nil, err
		}
		if err != nil || t.Verdict.Outcome == harness.Invalid {
			continue
		}
		all := moments(t.Passes)
		at := slices.IndexFunc(all, func(p Pass) bool {
			return p.Point.String() == first.Point && p.Nth == first.Nth && p.decides(first.Action)
		})
		if at < 0 { // it held without the first fault: what comes after it, this trace does not know
			continue
		}
		return all[at+1:], nil
	}
	return nil, nil
}

// decides says whether an action is decided at the pass.
func (p Pass) decides(action string) bool { return len(faults(action, p)) > 0 }

// single is a case of one fault at a pass.
func single(p Pass, action, workload string) Spec {
	return Spec{Point: p.Point.String(), Nth: p.Nth, Action: action, Path: p.Path, Workload: workload}
}

// then is the case in which a second fault happens at a pass after the spec's own.
func (s Spec) then(p Pass, action string) Spec {
	second := single(p, action, s.Workload)
	second.Also[0] = Deed{s.Point, s.Nth, s.Action, s.Path, s.While}
	return second
}

// firstOfEach are the first passes of each point on each path at which an action is decided, in their order.
func firstOfEach(passes []Pass, action string, keep func(Pass) bool) []Pass {
	seen := map[string]bool{}
	var out []Pass
	for _, p := range passes {
		if key := p.Point.String() + " " + p.Path; !seen[key] && p.decides(action) && keep(p) {
			seen[key] = true
			out = append(out, p)
		}
	}
	return out
}

// heads are, of the passes of each function on each path, the first one: all points of ttrpc methods are.
func heads(passes []Pass) []Pass {
	seen := map[string]bool{}
	var out []Pass
	for _, p := range passes {
		key := p.Point.Who + " " + p.Point.What + " " + p.Path
		if p.Moment == atMethod {
			key += " " + p.Point.Where
		}
		if !seen[key] {
			seen[key] = true
			out = append(out, p)
		}
	}
	return out
}
