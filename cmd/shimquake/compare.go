package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"runtime"
	"time"

	"github.com/spf13/cobra"

	"github.com/shimquake/shimquake/catalogue"
	"github.com/shimquake/shimquake/foreign"
	"github.com/shimquake/shimquake/harness/runner"
	"github.com/shimquake/shimquake/report"
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
	limit    time.Duration
	share    float64
	seed     uint64
	parallel int
	out      string
	resume   string
	shard    string
	part     plan.Shard
	plan     string
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
  shimquake compare v2.4.2 src:../containerd --markdown comment.md
  shimquake compare v2.4.2 v2.4.2+fixes --plan plan.json --shard 2/4 --out shard2; shimquake compare merge shard*`,
		Args: cobra.MaximumNArgs(2),
		RunE: func(cmd *cobra.Command, sides []string) error {
			if len(sides) == 1 {
				sides = append(sides, sides[0])
			}
			if len(sides) == 2 {
				f.patches.on(&sides[1])
			}
			return f.run(cmd.Context(), sides, cmd.OutOrStdout())
		},
	}
	fl := c.Flags()
	f.patches.register(fl)
	fl.AddFlagSet(cutting(&f.Options))
	fl.BoolVar(&f.Fresh, "fresh", false, "sweep A, and make the plans, even if this machine did so before")
	fl.BoolVar(&f.all, "all", false, "run every case on B")
	fl.Float64Var(&f.share, "share", 0.02, "the share of the other cases that runs, too")
	fl.Uint64Var(&f.seed, "seed", 1, "the seed that draws this share")
	fl.IntVar(&f.parallel, "parallel", worldsPerCPU*runtime.NumCPU(),
		"the number of concurrent cases, without cases that only wait for clean-up")
	tellDefault(c, "parallel", fmt.Sprintf("%d per CPU", worldsPerCPU))
	fl.DurationVar(&f.limit, "for", 5*time.Minute, "the time after which no further run of a difference begins (0: no "+
		"limit); what is not decided by then is not sure")
	fl.StringVar(&f.resume, "resume", "", "continue the comparison of this folder")
	fl.StringVar(&f.shard, "shard", "", "i/n: run every n-th case of the plan, from the i-th; needs --plan")
	fl.StringVar(&f.plan, "plan", "", "use the plan of A in this file (see shimquake sweep --plan-only)")
	f.registerReport(c)
	c.AddCommand(compareMergeCommand())
	return c
}

// registerReport adds the flags of the report.
func (f *compareFlags) registerReport(c *cobra.Command) {
	fl := c.Flags()
	fl.StringVar(&f.out, "out", "out/compare", "folder for the journal, the evidence and the page")
	fl.Float64Var(&f.alpha, "alpha", 0.01, "the probability of a false result among all rows")
	fl.IntVar(&f.most, "most", 20, "the number of further runs of a difference on each side after which it is not sure")
	fl.StringVar(&f.markdown, "markdown", "", "also write the result into this file, as the comment of a pull request")
	fl.BoolVar(&f.json, "json", false, "print the result as one JSON object")
}

// check returns an error for invalid flags, or for the wrong number of containerds.
func (f *compareFlags) check(sides []string) (err error) {
	if !(f.alpha > 0 && f.alpha < 1) || !(f.share >= 0 && f.share <= 1) || f.most < 1 || f.limit < 0 {
		return fmt.Errorf("--alpha %v --share %v --most %d --for %s: --alpha must be between 0 and 1, --share from 0 to 1, "+
			"--most at least 1, and --for not negative", f.alpha, f.share, f.most, f.limit)
	}
	if resumes := f.resume != ""; resumes == (len(sides) == 2) {
		return errors.New("name the two containerds, or a release and --patch; or continue a comparison with --resume DIR")
	}
	if f.resume != "" {
		f.out = f.resume
	}
	if f.shard != "" && f.plan == "" {
		return errors.New("--shard needs the same --plan FILE on each machine: make it with shimquake sweep --plan-only")
	}
	f.AsItIs = true
	if f.part, err = plan.ParseShard(f.shard); err != nil {
		return err
	}
	return f.Options.Check()
}

func (f *compareFlags) run(ctx context.Context, sides []string, out io.Writer) error {
	if err := f.check(sides); err != nil {
		return err
	}
	if f.parallel < 1 {
		return fmt.Errorf("--parallel %d: must be at least 1", f.parallel)
	}
	r := &runner.Runner{Residues: catalogue.Residues(), Evidence: filepath.Join(f.out, "evidence"), Log: stderr,
		Brief: true, Cover: true}
	e := engine.New(r, f.parallel)
	s := sweep.Schedule{Engine: e}
	var err error
	if f.resume != "" {
		s.Journal, s.Head, s.Done, err = resumeComparison(ctx, r, f.resume)
	} else {
		s, err = f.begin(ctx, e, sides[0], sides[1])
	}
	if err != nil {
		return compareError(err, f.out)
	}
	c := f.comparison(s.Head)
	c.For = f.limit
	s.On, s.Cases, s.Compare = s.Head.Other.Containerd, s.Head.Other.Cases, &c
	results, err := runCases(ctx, s)
	if err = errors.Join(err, s.Journal.Close()); err != nil {
		return compareError(err, f.out)
	}
	return f.print(ctx, s.Head, results, out, f.out)
}

// comparison returns the comparison of a journal's containerds.
func (f *compareFlags) comparison(h journal.Head) compare.Comparison {
	return compare.Comparison{Plan: h.Plan, Shared: h.Other.Shared, A: h.Plan.Containerd, B: h.Other.Containerd,
		Alpha: f.alpha, Most: f.most, Functions: h.Other.Functions}
}

// print prints the report of a comparison, then writes its page, and returns its exit
// status as an error.
func (f *compareFlags) print(ctx context.Context, h journal.Head, results []journal.Result, out io.Writer,
	dirs ...string) error {
	r := compare.NewReport(h, f.comparison(h).Rows(results), results)
	err := printResult(out, f.json, r)
	if err == nil && f.markdown != "" {
		err = foreign.WriteFile(f.markdown, []byte(r.Markdown()), 0o644)
	}
	d, n := report.Compare(h, r, dirs...)
	d.Made = time.Now()
	if failed := writeReport(ctx, f.out, d, n); failed != nil {
		return statusError{statusInvalid, errors.Join(failed, err)}
	}
	return withStatus(r.Status(), err)
}

// compareError gives an interrupt its status.
func compareError(err error, dir string) error {
	if !errors.Is(err, engine.ErrInterrupted) {
		return sweepError(err)
	}
	if journal.Has(dir) {
		return statusError{statusInvalid, fmt.Errorf("%w; continue with: shimquake compare --resume %s", err, dir)}
	}
	return statusError{statusInvalid, fmt.Errorf("%w: what has run of A is kept for the next comparison", err)}
}

// compareMergeCommand merges the shards of a comparison.
func compareMergeCommand() *cobra.Command {
	var f compareFlags
	c := &cobra.Command{
		Use:   "merge DIR...",
		Short: "Merge the shards of a comparison into one report",
		Long: `Merge prints the report that one machine would have printed, but runs nothing: what no shard could decide is
not sure.

Exit status: that of the comparison; 2 folders that are not shards of one comparison, 3 a lost shard.`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, dirs []string) error {
			if err := f.check(make([]string, 2)); err != nil {
				return err
			}
			h, results, err := journal.Merge(dirs)
			if err == nil && h.Other == nil {
				err = fmt.Errorf("%s has a sweep: merge it with shimquake sweep merge", dirs[0])
			}
			if err != nil {
				return mergeError(err)
			}
			return f.print(cmd.Context(), h, results, cmd.OutOrStdout(), dirs...)
		},
	}
	f.registerReport(c)
	return c
}
