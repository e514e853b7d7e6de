package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/shimquake/shimquake/catalogue"
	"github.com/shimquake/shimquake/harness/runner"
	"github.com/shimquake/shimquake/progress"
	"github.com/shimquake/shimquake/report"
	"github.com/shimquake/shimquake/sweep"
	"github.com/shimquake/shimquake/sweep/engine"
	"github.com/shimquake/shimquake/sweep/journal"
	"github.com/shimquake/shimquake/sweep/pairs"
	"github.com/shimquake/shimquake/sweep/plan"
	"github.com/shimquake/shimquake/sweep/triage"
)

// sweepFlags are the flags of `shimquake sweep`.
type sweepFlags struct {
	plan.Options
	patches  patches
	points   string
	parallel int
	out      string
	resume   string
	shard    string
	plan     string
	planOnly bool
	json     bool
	replay   int
	baseline string
	shards   []string // The folders to merge.
	pairs    []string
	randoms  randomFlags
}

// worldsPerCPU is the number of concurrent cases for each processor. It is more than one,
// because cases often wait.
const worldsPerCPU = 3

func sweepCommand() *cobra.Command {
	var f sweepFlags
	planning := f.planning()
	c := &cobra.Command{
		Use:   "sweep",
		Short: "Run every point with every action, and report the findings",
		Long: `Sweep first runs cases without a fault and, without --points and --plan-only, all scripts of three
steps. They must hold. Then it traces the workloads and runs a case for each point that they pass and
each action. It groups the findings into clusters. For the same binaries, a machine runs the cases without
a fault, and traces, only once (--fresh: again).

A finding is known if it is gone on the same containerd with the fix of a bug, and nothing else changed: sweep
runs its cases there. A bug without a fix explains findings by the places that the catalogue has for it. Of a
patched containerd or a checkout, the violated cases also run on the base release: what that does not show
is new.

It fails for:
  - a case that does not hold without a fault
  - a new cluster
  - a residue that appears more often than by chance

A cluster that 20 replays do not show again is reported with its odds.
Exit status: 0 nothing new that is reproducible, 1 a new finding, or a violated case without a fault,
2 wrong usage or nothing to sweep, 3 an invalid case.`,
		Example: `  shimquake sweep --who daemon --actions crash --workload task
  shimquake sweep --path delete --plan-only
  shimquake sweep --pairs all --out out/pairs
  shimquake sweep --resume out/sweep
  shimquake sweep --plan plan.json --shard 2/4 --out shard2; shimquake sweep merge shard*`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := refuseIgnored(cmd.Flags(), planning); err != nil {
				return err
			}
			return f.run(cmd.Context(), cmd.OutOrStdout())
		},
	}
	fl := c.Flags()
	fl.AddFlagSet(planning)
	fl.StringVar(&f.shard, "shard", "", "i/n: run every n-th case of the plan, from the i-th")
	fl.StringVar(&f.plan, "plan", "", "run the plan of this file (see --plan-only)")
	fl.BoolVar(&f.planOnly, "plan-only", false, "trace and plan only, and print the plan as JSON")
	fl.StringVar(&f.resume, "resume", "", "continue the sweep of this folder")
	f.registerCommon(c)
	f.randoms.register(c)
	c.AddCommand(sweepMergeCommand(), sweepReportCommand())
	return c
}

// planning returns the flags that choose the plan. They are refused with an existing
// plan, which would ignore them.
func (f *sweepFlags) planning() *pflag.FlagSet {
	fl := pflag.NewFlagSet("planning", pflag.ContinueOnError)
	fl.StringVar(&f.Containerd, "containerd", "",
		"the containerd under test: a release (v1.7.2), bin:DIR or src:DIR (default: the newest release)")
	f.patches.register(fl)
	fl.AddFlagSet(cutting(&f.Options))
	fl.StringVar(&f.Hits, "hits", "first",
		"the hits of a point: first (of all), path (the first on each path), all, or a number for each path")
	fl.StringVar(&f.points, "points", "", "a regular expression that a point's name must match")
	fl.BoolVar(&f.EveryWorkload, "every-workload", false,
		"sweep a point in each workload that reaches it, not only in the cheapest")
	fl.BoolVar(&f.Fresh, "fresh", false, freshHelp)
	fl.StringSliceVar(&f.pairs, "pairs", nil,
		"run pairs of faults in place of single faults: "+strings.Join(pairs.Kinds(), ", ")+", all")
	return fl
}

const freshHelp = "make the plan, and run the cases without a fault, even if this machine did so before"

// cutting returns the flags that also select the cases of a sweep's report.
func cutting(o *plan.Options) *pflag.FlagSet {
	fl := pflag.NewFlagSet("cutting", pflag.ContinueOnError)
	fl.StringSliceVar(&o.Who, "who", nil, "the process of the points: daemon, shim, both (default both)")
	fl.StringSliceVar(&o.Actions, "actions", nil,
		"crash, error, code (NotFound, ...), errno (ENOSPC, ...), cancel, deadline, delay, pause, ... "+
			"(default crash,error,code,errno,cancel,hang)")
	fl.StringSliceVar(&o.Paths, "path", nil,
		"what the client does meanwhile: create, start, exit, delete, load (default all)")
	fl.StringSliceVar(&o.Workloads, "workload", nil,
		strings.Join(plan.WorkloadNames(), ", ")+" (default "+strings.Join(plan.DefaultWorkloads(), ",")+")")
	return fl
}

// refuseIgnored returns an error for flags that the chosen mode ignores. Otherwise a
// sweep of the wrong release could look like a clean result.
func refuseIgnored(fl, planning *pflag.FlagSet) error {
	var plans []string
	planning.VisitAll(func(f *pflag.Flag) { plans = append(plans, f.Name) })
	refuse := func(because, why string, names ...string) error {
		if !fl.Changed(because) {
			return nil
		}
		for _, n := range names {
			if fl.Changed(n) {
				return fmt.Errorf("--%s with --%s: %s", n, because, why)
			}
		}
		return nil
	}
	return errors.Join(
		refuse("plan", "the plan has this choice already: leave out the flag, or make another plan (--plan-only)", plans...),
		refuse("resume", "a resumed sweep keeps its options and its folder: leave out the flag",
			append([]string{"out"}, plans...)...),
		refuse("random", "random plans use every hit of a point: leave out the flag", "hits", "every-workload"),
	)
}

func (f *sweepFlags) registerCommon(c *cobra.Command) {
	c.Flags().StringVar(&f.out, "out", "out/sweep",
		"folder for the journal, the cases of new clusters and their evidence")
	c.Flags().IntVar(&f.parallel, "parallel", worldsPerCPU*runtime.NumCPU(),
		"the number of concurrent cases, without cases that only wait for clean-up; more run while the CPUs are idle")
	tellDefault(c, "parallel", fmt.Sprintf("%d per CPU", worldsPerCPU))
	c.Flags().BoolVar(&f.json, "json", false, "print one JSON object per result and per cluster")
	c.Flags().IntVar(&f.replay, "replay", 20,
		"the number of replays of a new finding; 0: nothing is minimised, nor run on another containerd")
	f.registerBaseline(c)
}

func (f *sweepFlags) registerBaseline(c *cobra.Command) {
	c.Flags().StringVar(&f.baseline, "baseline", "",
		"the folder of another sweep: a finding is known if that sweep shows it, too, and new if not")
}

// check returns an error for invalid flags.
func (f *sweepFlags) check() error {
	var errs []error
	if f.parallel < 1 || f.replay < 0 {
		errs = append(errs, fmt.Errorf(
			"--parallel %d --replay %d: --parallel must be at least 1, and --replay must not be negative",
			f.parallel, f.replay))
	}
	if f.resume != "" && (f.plan != "" || f.planOnly || f.shard != "" || f.Containerd != "") {
		errs = append(errs, errors.New("--resume keeps the plan of the sweep: "+
			"leave out --plan, --plan-only, --shard and --containerd"))
	}
	o := f.Options
	lists := len(o.Who) + len(o.Actions) + len(o.Paths) + len(o.Workloads)
	if len(f.pairs) > 0 && (lists > 0 || o.Hits != "first" || o.EveryWorkload) {
		errs = append(errs, errors.New("--pairs has its own points, actions and workloads: use only --points with it"))
	}
	if f.randoms.on && (f.resume != "" || f.planOnly || f.shard != "" || len(f.pairs) > 0) {
		errs = append(errs, errors.New("--random excludes --resume, --plan-only, --shard and --pairs: "+
			"to use several machines, give each its own --seed"))
	}
	errs = append(errs, f.randoms.check())
	re, err := regexp.Compile(f.points)
	if err != nil {
		errs = append(errs, fmt.Errorf("--points: %w", err))
	}
	f.Points = re
	return errors.Join(append(errs, f.Options.Check())...)
}

func (f *sweepFlags) run(ctx context.Context, out io.Writer) error {
	f.patches.on(&f.Containerd)
	if err := f.check(); err != nil {
		return err
	}
	if f.resume != "" {
		f.out = f.resume
	}
	r := f.runner()
	e := engine.New(r, f.parallel)
	s := sweep.Schedule{Engine: e}
	if err := f.open(ctx, r, &s, out); err != nil || f.planOnly {
		return err
	}
	bar := newSweepProgress(ctx, s)
	if f.randoms.on {
		f.randoms.tell(bar.Work)
	}
	enc := json.NewEncoder(out)
	s.OnResult = func(res journal.Result) {
		spec := s.Head.Plan.Specs[res.I]
		if f.json {
			// If stdout fails, printing the report fails, too.
			_ = progress.Interrupt(ctx, func() error {
				return enc.Encode(struct {
					Spec plan.Spec `json:"spec"`
					journal.Result
				}{spec, res})
			})
		}
		bar.step(spec, res)
	}
	results, err := s.Run(ctx)
	bar.End()
	if err == nil && f.replay > 0 && f.baseline == "" {
		s.Done = results
		results, err = s.Explain(ctx, catalogue.Excuses(), results, r.Prepare)
	}
	err = cmp.Or(err, s.Journal.Close())
	switch {
	case errors.Is(err, engine.ErrInterrupted):
		return statusError{statusInvalid, fmt.Errorf("%w after %d cases; continue with: shimquake sweep --resume %s", err,
			s.Head.Done(results), f.out)}
	case err != nil:
		return statusError{statusInvalid, err}
	}
	return f.report(ctx, r, e, s.Head, results, out)
}

// runner returns the runner of a sweep and its replays.
func (f *sweepFlags) runner() *runner.Runner {
	return &runner.Runner{
		Residues: catalogue.Residues(), Evidence: filepath.Join(f.out, "evidence"), Log: stderr, Brief: true,
	}
}

// open makes or reads the plan, and creates or resumes the journal.
func (f *sweepFlags) open(ctx context.Context, r *runner.Runner, s *sweep.Schedule, out io.Writer) (err error) {
	if f.resume != "" {
		if s.Journal, s.Head, s.Done, err = journal.Resume(f.resume); err != nil {
			return err
		}
		if err = s.Head.CheckSweep(f.resume); err == nil {
			err = prepare(ctx, r, s.Head.Plan)
		}
		if err != nil {
			return errors.Join(err, s.Journal.Close())
		}
		return nil
	}
	if s.Head.Shard, err = plan.ParseShard(f.shard); err != nil {
		return err
	}
	if !f.planOnly {
		if err := journal.CheckUnused(f.out); err != nil {
			return err
		}
	}
	if f.plan != "" {
		if s.Head.Plan, err = plan.Read(f.plan); err == nil {
			err = prepare(ctx, r, s.Head.Plan)
		}
	} else {
		if f.randoms.on {
			f.Options = randomPlans(f.Options)
		}
		if err = r.Prepare(ctx, f.Containerd); err != nil {
			return prepareError(err)
		}
		if f.Cache, err = plan.CacheDir(ctx, f.Containerd); err == nil {
			s.Head.Plan, err = f.make(ctx, s.Engine)
		}
	}
	if err == nil && f.randoms.on {
		err = f.randoms.draw(s, f.out)
	}
	if err != nil {
		return sweepError(err)
	}
	if f.planOnly {
		return json.NewEncoder(out).Encode(s.Head.Plan)
	}
	s.Journal, err = journal.Create(f.out, s.Head)
	return err
}

// report prints the findings, with the case of each new cluster, and returns the exit
// status as an error.
func (f *sweepFlags) report(ctx context.Context, r *runner.Runner, e *engine.Engine, h journal.Head,
	results []journal.Result, out io.Writer) error {
	rep, err := f.triage(h, results)
	if err != nil {
		return err
	}
	if len(f.shards) > 0 && f.replay > 0 && len(rep.New) > 0 {
		// Replays on other binaries could miss a finding.
		if err := prepare(ctx, r, h.Plan); err != nil {
			return statusError{statusInvalid, err}
		}
	}
	if h.Shard.Whole() {
		m := sweep.Minimiser{Engine: e, Out: f.out, Replays: f.replay}
		if err := m.ShowAll(ctx, h.Plan, &rep); err != nil {
			return statusError{statusInvalid, fmt.Errorf("%w; the cases are done: shimquake sweep --resume %s", err, f.out)}
		}
	}
	if err := f.write(ctx, e, h, results, rep); err != nil {
		return statusError{statusInvalid, err}
	}
	if !h.Shard.Whole() {
		return f.print(rep, out, openReport(f.out, "this shard only"),
			step{asRoot() + " sweep merge --out merged SHARD...", "after the other shards"})
	}
	return f.print(rep, out, afterSweep(rep, h.Plan.Containerd, f.out)...)
}

// triage returns the findings of a sweep, with their causes by its further runs and by
// --baseline.
func (f *sweepFlags) triage(h journal.Head, results []journal.Result) (triage.Report, error) {
	causes := sweep.Causes(h, results)
	if f.baseline != "" {
		other, others, err := journal.Read(f.baseline)
		if err != nil {
			return triage.Report{}, err
		}
		causes = append(causes, triage.Baseline(f.baseline, h.Plan, results, other.Plan, others)...)
	}
	return triage.NewReport(h, results, catalogue.Excuses(), causes...), nil
}

// write writes the files of the report into the folder of the finished sweep.
func (f *sweepFlags) write(ctx context.Context, e *engine.Engine, h journal.Head, results []journal.Result,
	rep triage.Report) error {
	dirs := f.shards
	if len(dirs) == 0 {
		dirs = []string{f.out}
	}
	todo, err := violatedWorkloads(h.Plan, results)
	if err != nil {
		return err
	}
	without, err := runWithout(ctx, e, todo, f.out)
	if err != nil {
		return err
	}
	d := report.Sweep(h, rep, without, dirs...)
	d.Made = time.Now()
	return writeReport(ctx, f.out, d, len(results))
}

// print prints a report, and returns its exit status as an error.
func (f *sweepFlags) print(rep triage.Report, out io.Writer, next ...step) (err error) {
	if f.json {
		err = rep.JSON(out)
	} else {
		if _, err = fmt.Fprint(out, rep); err == nil {
			err = tellNext(out, next...)
		}
	}
	return withStatus(rep.Status(), err)
}
