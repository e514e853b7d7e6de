package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"math/rand/v2"
	"path/filepath"
	"runtime"
	"slices"

	"github.com/spf13/cobra"

	"github.com/shimquake/shimquake/catalogue"
	"github.com/shimquake/shimquake/failpoints"
	"github.com/shimquake/shimquake/fixtures/containerd"
	"github.com/shimquake/shimquake/foreign"
	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/harness/runner"
	"github.com/shimquake/shimquake/sweep"
	"github.com/shimquake/shimquake/sweep/compare"
	"github.com/shimquake/shimquake/sweep/engine"
	"github.com/shimquake/shimquake/sweep/journal"
	"github.com/shimquake/shimquake/sweep/plan"
)

// compareFlags are the flags of the command.
type compareFlags struct {
	plan.Options
	patches  patches
	all      bool
	alpha    float64
	most     int
	share    float64
	seed     uint64
	parallel int
	out      string
	markdown string
	json     bool
}

func compareCommand() *cobra.Command {
	var f compareFlags
	c := &cobra.Command{
		Use:   "compare A B",
		Short: "Run the same cases on two containerds, and say what the second one closes and opens",
		Long: `Compare sweeps containerd A once, and keeps the results in the cache. Then it runs on B the cases whose run
on A reached a function that differs, and a share of the others. Where the two sides differ, it runs both in
turn until the result is sure: a finding is the same as soon as the other side shows it, and closed or opened when
the other side held so often that this is improbable. Without B, --patch makes B from A.

Exit status: 0 nothing opened, 1 something opened, 2 wrong usage, 3 not decided.`,
		Example: `  shimquake compare v2.4.2 --patch my-change.patch
  shimquake compare v2.4.2 v2.4.2+fixes
  shimquake compare v2.3.7 v2.4.2 --all
  shimquake compare v2.4.2 src:../containerd --markdown comment.md`,
		Args: cobra.RangeArgs(1, 2),
		RunE: func(cmd *cobra.Command, sides []string) error {
			b := sides[len(sides)-1]
			f.patches.on(&b)
			return f.run(cmd.Context(), sides[0], b, cmd.OutOrStdout())
		},
	}
	fl := c.Flags()
	f.patches.register(fl)
	fl.AddFlagSet(cutting(&f.Options))
	fl.BoolVar(&f.all, "all", false, "run every case on B")
	fl.Float64Var(&f.alpha, "alpha", 0.01, "the probability of a false result among all rows")
	fl.IntVar(&f.most, "most", 20, "the number of further runs of a difference on each side after which it is not sure")
	fl.Float64Var(&f.share, "share", 0.02, "the share of the other cases that runs, too")
	fl.Uint64Var(&f.seed, "seed", 0, "the seed that draws this share (default: a new seed, which is printed)")
	fl.IntVar(&f.parallel, "parallel", worldsPerCPU*runtime.NumCPU(),
		"the number of concurrent cases, without cases that only wait for clean-up")
	tellDefault(c, "parallel", fmt.Sprintf("%d per CPU", worldsPerCPU))
	fl.StringVar(&f.out, "out", "out/compare", "folder for the journal of B, and the evidence")
	fl.StringVar(&f.markdown, "markdown", "", "also write the result into this file, as the comment of a pull request")
	fl.BoolVar(&f.json, "json", false, "print the result as one JSON object")
	return c
}

func (f *compareFlags) check() error {
	if !(f.alpha > 0 && f.alpha < 1) || !(f.share >= 0 && f.share <= 1) || f.most < 1 || f.parallel < 1 {
		return fmt.Errorf("--alpha %v --share %v --most %d --parallel %d: --alpha must be between 0 and 1, "+
			"--share from 0 to 1, and the others at least 1", f.alpha, f.share, f.most, f.parallel)
	}
	if f.seed == 0 {
		f.seed = rand.Uint64()>>40 | 1 // short enough to type
	}
	f.AsItIs = true
	return f.Options.Check()
}

func (f *compareFlags) run(ctx context.Context, a, b string, out io.Writer) error {
	if err := f.check(); err != nil {
		return err
	}
	r := &runner.Runner{Residues: catalogue.Residues(), Evidence: filepath.Join(f.out, "evidence"), Log: stderr,
		Brief: true, Cover: true}
	var sources [2]compare.Source
	var digests [2]string
	for i, name := range []string{a, b} {
		var err error
		if err = r.Prepare(ctx, name); err != nil {
			return prepareError(err)
		}
		if sources[i], err = sourceOf(ctx, name); err != nil {
			return err
		}
		if _, digests[i], err = plan.Identify(ctx, name); err != nil {
			return err
		}
	}
	if digests[0] == digests[1] {
		return fmt.Errorf("%q and %q are the same binaries: there is nothing to compare", a, b)
	}
	if err := journal.CheckUnused(f.out); err != nil {
		return err
	}
	e := engine.New(r, f.parallel)
	head, results, err := f.baseline(ctx, e, a, digests[0], sources[0])
	if err != nil {
		return compareError(err)
	}
	report := compare.Report{A: a, B: b, Difference: compare.DifferenceOf(sources[0], sources[1]), Seed: f.seed}
	fmt.Fprintf(stderr, "shimquake: %s\n", report.Difference)
	both, onlyB, err := f.union(ctx, e, head.Plan, b, sources)
	if err != nil {
		return compareError(err)
	}
	chosen, sampled := report.Choose(head, results, f.all, f.share, f.seed)
	for i := range onlyB {
		chosen = append(chosen, len(head.Plan.Specs)+i)
	}
	onB, err := f.sweep(ctx, e, both, b, chosen)
	if err != nil {
		return compareError(err)
	}
	report.Plan, report.Planned, report.Ran, report.Sampled = both, len(both.Specs), len(onB), sampled
	report.Lost = lost(results, onB)
	c := compare.Comparison{Engine: e, Plan: both, Shared: len(head.Plan.Specs), A: a, B: b, Alpha: f.alpha, Most: f.most}
	if report.Rows, err = c.Rows(ctx, results, onB); err != nil {
		return compareError(err)
	}
	return f.print(report, out)
}

// lost returns how many cases are invalid on one side only.
func lost(a, b []journal.Result) (n int) {
	invalid := map[int]bool{}
	for _, r := range a {
		invalid[r.I] = r.Outcome == harness.Invalid
	}
	for _, r := range b {
		if was, ran := invalid[r.I]; ran && was != (r.Outcome == harness.Invalid) {
			n++
		}
	}
	return n
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

// baseline returns the results of the sweep of A. They are kept in the cache for this
// build of shimquake, because another one may plan other cases. An interrupted sweep
// continues there.
func (f *compareFlags) baseline(ctx context.Context, e *engine.Engine, a, digest string, source compare.Source) (
	journal.Head, []journal.Result, error) {
	cache, err := containerd.CacheDir()
	build, buildErr := journal.BuildID()
	if err := errors.Join(err, buildErr); err != nil {
		return journal.Head{}, nil, err
	}
	o := f.Options
	o.Containerd = a
	hash := fnv.New32a()
	_, _ = hash.Write([]byte(o.String() + build)) // a hash takes everything
	dir := filepath.Join(cache, "baselines", fmt.Sprintf("%s-%08x", digest, hash.Sum32()))
	s := sweep.Schedule{Engine: e}
	if journal.Has(dir) {
		s.Journal, s.Head, s.Done, err = journal.Resume(dir)
	} else {
		s.Head = journal.Head{Shard: plan.Shard{I: 1, Of: 1}, Functions: functionsIn(source)}
		if s.Head.Plan, err = plan.Make(ctx, e, o); err == nil {
			s.Journal, err = journal.Create(dir, s.Head)
		}
	}
	if err != nil {
		return s.Head, nil, err
	}
	return f.swept(ctx, s)
}

// functionsIn returns the functions with probes, sorted.
func functionsIn(source compare.Source) (all []string) {
	for _, st := range source.Statements {
		all = append(all, st.Who+" "+st.Function)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// swept runs the cases of a schedule that have no result yet.
func (f *compareFlags) swept(ctx context.Context, s sweep.Schedule) (journal.Head, []journal.Result, error) {
	bar := newSweepProgress(ctx, s)
	s.OnResult = func(r journal.Result) { bar.step(s.Head.Plan.Specs[r.I], r) }
	results, err := s.Run(ctx)
	bar.End()
	return s.Head, results, errors.Join(err, s.Journal.Close())
}

// union returns A's plan with the cases at points that only B has, and these cases. B is
// traced only if it has such points.
func (f *compareFlags) union(ctx context.Context, e *engine.Engine, p plan.Plan, b string,
	sources [2]compare.Source) (plan.Plan, []plan.Spec, error) {
	has := map[failpoints.Point]bool{}
	for _, st := range sources[0].Statements {
		has[containerd.StatementPoint(st)] = true
	}
	fresh := func(at failpoints.Point) bool { return at.Kind == failpoints.Stmt && !has[at] }
	var onlyB []plan.Spec
	for _, st := range sources[1].Statements {
		if !fresh(containerd.StatementPoint(st)) {
			continue
		}
		o := f.Options
		o.Containerd = b
		made, err := plan.Make(ctx, e, o)
		if err != nil {
			return p, nil, err
		}
		for _, s := range made.Specs {
			if fresh(s.Last().Point) {
				onlyB = append(onlyB, s)
			}
		}
		break
	}
	p.Specs = append(slices.Clone(p.Specs), onlyB...)
	return p.WithDigest(), onlyB, nil
}

// sweep runs the chosen cases on B.
func (f *compareFlags) sweep(ctx context.Context, e *engine.Engine, p plan.Plan, b string, chosen []int) (
	[]journal.Result, error) {
	if len(chosen) == 0 {
		return nil, nil
	}
	part := p
	part.Containerd, part.Specs = b, nil
	var err error
	if part.Version, part.Subject, err = plan.Identify(ctx, b); err != nil {
		return nil, err
	}
	for _, i := range chosen {
		part.Specs = append(part.Specs, p.Specs[i])
	}
	s := sweep.Schedule{Engine: e, Head: journal.Head{Plan: part.WithDigest(), Shard: plan.Shard{I: 1, Of: 1}}}
	if s.Journal, err = journal.Create(f.out, s.Head); err != nil {
		return nil, err
	}
	_, results, err := f.swept(ctx, s)
	for i := range results {
		results[i].I = chosen[results[i].I]
	}
	return results, err
}

func (f *compareFlags) print(r compare.Report, out io.Writer) (err error) {
	if f.json {
		err = json.NewEncoder(out).Encode(r)
	} else {
		_, err = fmt.Fprint(out, r)
	}
	if err == nil && f.markdown != "" {
		err = foreign.WriteFile(f.markdown, []byte(r.Markdown()), 0o644)
	}
	if status := r.Status(); err == nil && status != statusHeld {
		err = statusError{status: status}
	}
	return err
}

// compareError gives an interrupt its status.
func compareError(err error) error {
	if errors.Is(err, engine.ErrInterrupted) {
		return statusError{statusInvalid, fmt.Errorf("%w: what has run of A is kept for the next comparison", err)}
	}
	return sweepError(err)
}
