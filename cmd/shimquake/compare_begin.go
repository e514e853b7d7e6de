package main

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"os"
	"path/filepath"
	"slices"
	"time"

	"golang.org/x/mod/semver"

	"github.com/shimquake/shimquake/catalogue"
	"github.com/shimquake/shimquake/failpoints"
	"github.com/shimquake/shimquake/failpoints/weave"
	"github.com/shimquake/shimquake/fixtures/containerd"
	"github.com/shimquake/shimquake/foreign"
	"github.com/shimquake/shimquake/harness/runner"
	"github.com/shimquake/shimquake/oracle/affected"
	"github.com/shimquake/shimquake/poll"
	"github.com/shimquake/shimquake/sweep"
	"github.com/shimquake/shimquake/sweep/compare"
	"github.com/shimquake/shimquake/sweep/engine"
	"github.com/shimquake/shimquake/sweep/journal"
	"github.com/shimquake/shimquake/sweep/plan"
)

// begin sweeps A if no sweep of it is kept, and begins the journal of the comparison with
// A's results.
func (f *compareFlags) begin(ctx context.Context, e *engine.Engine, a, b string) (s sweep.Schedule, err error) {
	var sources [2]compare.Source
	var versions, digests [2]string
	for i, name := range []string{a, b} {
		if err = e.Runner.(*runner.Runner).Prepare(ctx, name); err != nil {
			return s, prepareError(err)
		}
		if sources[i], err = sourceOf(ctx, name); err != nil {
			return s, err
		}
		if versions[i], digests[i], err = plan.Identify(ctx, name); err != nil {
			return s, err
		}
		versions[i] = semver.Major(affected.Semantic(versions[i]))
	}
	if digests[0] == digests[1] {
		return s, fmt.Errorf("%q and %q are the same binaries: there is nothing to compare", a, b)
	}
	if versions[0] != versions[1] {
		return s, fmt.Errorf("%q is containerd %s and %q is %s: they are different Go modules, whose points differ; "+
			"compare releases of one", a, versions[0], b, versions[1])
	}
	s.Engine, s.Head.Shard = e, f.part
	if err = journal.CheckUnused(f.out); err != nil {
		return s, err
	}
	base, dir, results, err := f.baseline(ctx, e, a, sources[0])
	if err != nil {
		return s, err
	}
	difference := compare.DifferenceOf(sources[0], sources[1])
	fmt.Fprintf(stderr, "shimquake: %s\n", difference)
	base.Plan.Specs = append(base.Plan.Specs, difference.Stuck(base.Plan)...)
	base.Plan = base.Plan.WithDigest()
	both, err := f.union(ctx, e, base.Plan, b, sources)
	if err != nil {
		return s, err
	}
	other := journal.Other{Containerd: b, Subject: digests[1], Shared: len(base.Plan.Specs), Seed: f.seed,
		Functions: difference.Functions, Unwoven: difference.Unwoven}
	other.Cases, other.Sampled = difference.Choose(base, results, f.all, f.share, f.seed)
	for i := other.Shared; i < len(both.Specs); i++ {
		if f.part.Has(i) {
			other.Cases = append(other.Cases, i)
		}
	}
	s.Head.Plan, s.Head.Other = both, &other
	if s.Journal, err = journal.Create(f.out, s.Head); err != nil {
		return s, err
	}
	s.Done, err = s.Journal.Copy(dir, func(r journal.Result) bool {
		_, chosen := slices.BinarySearch(other.Cases, r.I)
		return chosen && r.On == ""
	})
	return s, err
}

// resumeComparison opens the journal of a comparison, and prepares its containerds.
func resumeComparison(ctx context.Context, r *runner.Runner, dir string) (j *journal.Journal, h journal.Head,
	done []journal.Result, err error) {
	if j, h, done, err = journal.Resume(dir); err != nil {
		return j, h, done, err
	}
	fail := func(err error) (*journal.Journal, journal.Head, []journal.Result, error) {
		return nil, h, nil, errors.Join(err, j.Close())
	}
	if h.Other == nil {
		return fail(fmt.Errorf("%s has a sweep, not a comparison: continue it with shimquake sweep --resume %s", dir, dir))
	}
	if err := prepare(ctx, r, h.Plan); err != nil {
		return fail(err)
	}
	if err := r.Prepare(ctx, h.Other.Containerd); err != nil {
		return fail(prepareError(err))
	}
	_, digest, err := plan.Identify(ctx, h.Other.Containerd)
	if err == nil && digest != h.Other.Subject {
		err = fmt.Errorf("the binaries of containerd %q have changed since %s was begun: compare again in another "+
			"folder (--out)", h.Other.Containerd, dir)
	}
	if err != nil {
		return fail(err)
	}
	return j, h, done, nil
}

func sourceOf(ctx context.Context, name string) (s compare.Source, err error) {
	subject, err := containerd.Resolve(ctx, name, containerd.Options{Log: stderr})
	if err != nil {
		return s, err
	}
	if s.Statements, err = subject.Statements(); err == nil {
		s.Functions, err = subject.Functions()
	}
	return s, err
}

// baseline returns the sweep of A, and its folder in the cache. An interrupted sweep
// continues there.
func (f *compareFlags) baseline(ctx context.Context, e *engine.Engine, a string, source compare.Source) (
	h journal.Head, dir string, results []journal.Result, err error) {
	o := f.Options
	o.Containerd = a
	if o.Cache, err = plan.CacheDir(ctx, a); err != nil {
		return h, dir, nil, err
	}
	s := sweep.Schedule{Engine: e, Head: journal.Head{Shard: f.part, Functions: functionsIn(source)}}
	if f.plan != "" {
		if s.Head.Plan, err = plan.Read(f.plan); err == nil {
			err = s.Head.Plan.CheckSubject(ctx)
		}
		if err != nil {
			return h, dir, nil, err
		}
	}
	hash := fnv.New32a()
	_, _ = fmt.Fprint(hash, s.Head.Plan.Digest, f.part, catalogue.Cases()) // a hash takes everything
	dir = filepath.Join(o.Cache, fmt.Sprintf("sweep-%s-%08x", o.Key(), hash.Sum32()))
	if f.Fresh {
		if err := os.RemoveAll(dir); err != nil {
			return h, dir, nil, fmt.Errorf("sweep A again: %w", err)
		}
	}
	if journal.Has(dir) {
		s.Journal, s.Head, s.Done, err = resumeWhenFree(ctx, dir, a)
		s.Head.Plan.Containerd = a // the same binaries may have another name now
		s.Head.Plan = s.Head.Plan.WithDigest()
	} else {
		if f.plan == "" {
			s.Head.Plan, err = plan.Make(ctx, e, o)
		}
		if err == nil {
			s.Head.Plan = withCatalogue(s.Head.Plan, o)
			s.Journal, err = journal.Create(dir, s.Head)
		}
	}
	if err != nil {
		return s.Head, dir, nil, err
	}
	results, err = runCases(ctx, s)
	return s.Head, dir, results, errors.Join(err, s.Journal.Close())
}

// resumeWhenFree continues the sweep of a containerd. If another shimquake sweeps it now,
// resumeWhenFree waits for its results.
func resumeWhenFree(ctx context.Context, dir, of string) (j *journal.Journal, h journal.Head,
	done []journal.Result, err error) {
	told := false
	err = poll.Until(ctx, time.Second, func() (bool, error) {
		j, h, done, err = journal.Resume(dir)
		if !errors.Is(err, foreign.ErrInUse) {
			return true, err
		}
		if !told {
			fmt.Fprintf(stderr, "shimquake: another shimquake sweeps containerd %s: waiting for its results\n", of)
		}
		told = true
		return false, nil
	})
	if err != nil && ctx.Err() != nil {
		err = engine.ErrInterrupted
	}
	return j, h, done, err
}

// withCatalogue adds the cases of the catalogue to a plan, unless the options leave out
// workloads, actions or processes.
func withCatalogue(p plan.Plan, o plan.Options) plan.Plan {
	if o.String() != (plan.Options{}).String() {
		return p
	}
	for _, c := range catalogue.Cases() {
		p.Specs = append(p.Specs, plan.Catalogued(c))
	}
	return p.WithDigest()
}

// functionsIn returns the functions with probes, sorted.
func functionsIn(source compare.Source) (all []string) {
	for _, st := range source.Statements {
		all = append(all, st.Who+" "+st.Function)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// runCases runs the cases of a schedule that have no result yet, and returns all results.
func runCases(ctx context.Context, s sweep.Schedule) ([]journal.Result, error) {
	bar := newSweepProgress(ctx, s)
	defer bar.End()
	s.OnResult = func(r journal.Result) { bar.step(s.Head.Plan.Specs[r.I], r) }
	return s.Run(ctx)
}

// union returns A's plan with the cases at points that only B has. B is traced only if it
// has such points.
func (f *compareFlags) union(ctx context.Context, e *engine.Engine, p plan.Plan, b string,
	sources [2]compare.Source) (plan.Plan, error) {
	has := map[failpoints.Point]bool{}
	for _, st := range sources[0].Statements {
		has[containerd.StatementPoint(st)] = true
	}
	fresh := func(at failpoints.Point) bool { return at.Kind == failpoints.Stmt && !has[at] }
	if len(has) == 0 || !slices.ContainsFunc(sources[1].Statements, func(st weave.Statement) bool {
		return fresh(containerd.StatementPoint(st))
	}) {
		return p, nil
	}
	o := f.Options
	o.Containerd = b
	var err error
	if o.Cache, err = plan.CacheDir(ctx, b); err != nil {
		return p, err
	}
	made, err := plan.Make(ctx, e, o)
	if err != nil {
		return p, err
	}
	p.Specs = append(slices.Clone(p.Specs), slices.DeleteFunc(made.Specs, func(s plan.Spec) bool {
		return !fresh(s.Last().Point)
	})...)
	return p.WithDigest(), nil
}
