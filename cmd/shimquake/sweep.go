package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/shimquake/shimquake/catalogue"
	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/sweep"
)

// sweepFlags are the flags of `shimquake sweep`.
type sweepFlags struct {
	sweep.Options
	points   string
	parallel int
	out      string
	resume   string
	shard    string
	plan     string
	planOnly bool
	json     bool
	replay   int
	pairs    []string
	randoms  randomFlags
}

// worldsPerCPU is how many cases work at once for each processor: they wait for each other's processes, too.
const worldsPerCPU = 3

func sweepCommand() *cobra.Command {
	var f sweepFlags
	c := &cobra.Command{
		Use:   "sweep",
		Short: "Run every point of a path x every action, and tell what is left",
		Long: `Sweep traces the workloads without a fault, plans a case for each point that they pass and each action, runs them all, and groups what is
left into findings. It fails on a finding that the catalogue does not know, and on a known one that is gone.

Exit status: 0 nothing new, 1 a new finding or a known one that is gone, 2 wrong usage or nothing to sweep, 3 a case that shows nothing.`,
		Example: `  shimquake sweep --who daemon --actions crash --workload task
  shimquake sweep --path delete --plan-only
  shimquake sweep --pairs all --out out/pairs
  shimquake sweep --resume out/sweep
  shimquake sweep --plan plan.json --shard 2/4 --out shard2; shimquake sweep merge shard*`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := refuseIgnored(cmd.Flags()); err != nil {
				return err
			}
			return f.run(cmd.Context(), cmd.OutOrStdout())
		},
	}
	fl := c.Flags()
	fl.StringVar(&f.Containerd, "containerd", "", "the subject: a release (v1.7.2), bin:DIR or src:DIR (default: the newest release)")
	fl.StringSliceVar(&f.Who, "who", nil, "whose points: daemon, shim, both (default both)")
	fl.StringSliceVar(&f.Actions, "actions", nil, "crash, error, cancel, deadline, delay, pause, ... (default crash,error,cancel)")
	fl.StringSliceVar(&f.Paths, "path", nil, "what the client does meanwhile: create, start, exit, delete, load (default all)")
	fl.StringSliceVar(&f.Workloads, "workload", nil, strings.Join(sweep.WorkloadNames(), ", ")+" (default "+strings.Join(sweep.DefaultWorkloads(), ",")+")")
	fl.StringVar(&f.Hits, "hits", "first", "which hits of a point: first (of all), path (the first on each path), all, or how many of the first on each path")
	fl.StringVar(&f.points, "points", "", "a regular expression that a point's name must match")
	fl.BoolVar(&f.EveryWorkload, "every-workload", false, "sweep a point in each workload that reaches it, not only in the cheapest")
	fl.StringVar(&f.shard, "shard", "", "i/n: only every n-th case of the plan, from the i-th")
	fl.StringVar(&f.plan, "plan", "", "run the plan of this file (see --plan-only)")
	fl.BoolVar(&f.planOnly, "plan-only", false, "trace and plan; print the plan as JSON and run nothing")
	fl.StringSliceVar(&f.pairs, "pairs", nil, "in place of single faults the pairs that they cannot reach: "+strings.Join(sweep.PairKinds, ", ")+", all")
	fl.StringVar(&f.resume, "resume", "", "go on with the sweep of this folder")
	f.registerCommon(c)
	f.randoms.register(c)
	c.AddCommand(sweepMergeCommand(), sweepReportCommand(), sweepCompareCommand())
	return c
}

// planning are the flags that choose what is planned, and what would be dropped in silence beside a plan that stands already.
var planning = []string{"containerd", "who", "actions", "path", "workload", "hits", "points", "every-workload", "pairs"}

// refuseIgnored refuses flags that would choose nothing: a sweep of another release than one asks for would say that this one is clean.
func refuseIgnored(fl *pflag.FlagSet) error {
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
		refuse("plan", "the plan says already what is swept: leave it out, or make another plan (--plan-only)", planning...),
		refuse("resume", "the sweep goes on as it was begun, in its own folder: leave it out", append([]string{"out"}, planning...)...),
		refuse("random", "random plans take every hit that the traces have: leave it out", "hits", "every-workload"),
	)
}

func (f *sweepFlags) registerCommon(c *cobra.Command) {
	c.Flags().StringVar(&f.out, "out", "out/sweep", "folder for the journal, the findings and their evidence")
	c.Flags().IntVar(&f.parallel, "parallel", worldsPerCPU*runtime.NumCPU(), "how many cases work at once; those that only wait for what may still go away come on top")
	c.Flags().BoolVar(&f.json, "json", false, "print one JSON object a result, and one a finding")
	c.Flags().IntVar(&f.replay, "replay", 20, "how often the case of a new finding is replayed; 0: it is not minimised either")
}

// check says what is wrong with the flags before anything runs.
func (f *sweepFlags) check() error {
	var errs []error
	if f.parallel < 1 || f.replay < 0 {
		errs = append(errs, fmt.Errorf("--parallel %d --replay %d: at least 1, and not negative", f.parallel, f.replay))
	}
	if f.resume != "" && (f.plan != "" || f.planOnly || f.shard != "" || f.Containerd != "") {
		errs = append(errs, errors.New("--resume goes on with a sweep as it was begun: leave out --plan, --plan-only, --shard and --containerd"))
	}
	if o := f.Options; len(f.pairs) > 0 && (len(o.Who)+len(o.Actions)+len(o.Paths)+len(o.Workloads) > 0 || o.Hits != "first" || o.EveryWorkload) {
		errs = append(errs, errors.New("--pairs has its own points, actions and workloads: only --points narrows it down"))
	}
	if f.randoms.on && (f.resume != "" || f.planOnly || f.shard != "" || len(f.pairs) > 0) {
		errs = append(errs, errors.New("--random stands without --resume, --plan-only, --shard and --pairs: each machine takes its own --seed"))
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
	if err := f.check(); err != nil {
		return err
	}
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(400) // some 200 MiB in place of 100, for a hundredth of a sweep's time
	}
	if f.randoms.on {
		return f.random(ctx, out)
	}
	if f.resume != "" {
		f.out = f.resume
	}
	r := &harness.Runner{Evidence: filepath.Join(f.out, "evidence"), Log: os.Stderr, Brief: true}
	slots := sweep.NewSlots(f.parallel)
	s := sweep.Schedule{Engine: r, Parallel: f.parallel, Slots: slots, Known: catalogue.Findings()}
	r.Yield = slots.Yield
	if err := f.open(ctx, r, &s, out); err != nil || f.planOnly {
		return err
	}
	bar := newSweepProgress(s)
	enc := json.NewEncoder(out)
	s.OnResult = func(res sweep.Result) {
		if f.json {
			bar.clear()
			_ = enc.Encode(struct { // what stdout refuses, the report's own line will tell
				Spec sweep.Spec `json:"spec"`
				sweep.Result
			}{s.Head.Plan.Specs[res.I], res})
		}
		bar.step(res)
	}
	results, err := s.Run(ctx)
	bar.clear()
	if cerr := s.Journal.Close(); err == nil {
		err = cerr
	}
	switch {
	case errors.Is(err, sweep.ErrInterrupted):
		return statusError{statusInvalid, fmt.Errorf("%w after %d cases; go on with: shimquake sweep --resume %s", err, len(results), f.out)}
	case err != nil:
		return statusError{statusInvalid, err}
	}
	return f.report(ctx, r, slots, s.Head, results, out)
}

// open makes the plan, or reads it, and begins or resumes the journal.
func (f *sweepFlags) open(ctx context.Context, r *harness.Runner, s *sweep.Schedule, out io.Writer) (err error) {
	if f.resume != "" {
		if s.Journal, s.Head, s.Done, err = sweep.ResumeJournal(f.resume); err != nil {
			return err
		}
		if err := prepare(ctx, r, s.Head.Plan); err != nil {
			return errors.Join(err, s.Journal.Close())
		}
		return nil
	}
	if s.Head.Shard, err = sweep.ParseShard(f.shard); err != nil {
		return err
	}
	if !f.planOnly {
		if err := sweep.Unused(f.out); err != nil {
			return err
		}
	}
	if f.plan != "" {
		if s.Head.Plan, err = sweep.ReadPlan(f.plan); err == nil {
			err = prepare(ctx, r, s.Head.Plan)
		}
	} else {
		if err = r.Prepare(ctx, f.Containerd); err != nil {
			return prepareError(err)
		}
		s.Head.Plan, err = f.make(ctx, r)
	}
	if err != nil {
		return sweepError(err)
	}
	if f.planOnly {
		return json.NewEncoder(out).Encode(s.Head.Plan)
	}
	s.Journal, err = sweep.CreateJournal(f.out, s.Head)
	return err
}

// make traces and plans: single faults, or pairs.
func (f *sweepFlags) make(ctx context.Context, r *harness.Runner) (sweep.Plan, error) {
	if len(f.pairs) > 0 {
		return sweep.MakePairs(ctx, r, f.Options, f.pairs)
	}
	return sweep.Make(ctx, r, f.Options)
}

// prepare builds the plan's subject and makes sure that it is the one that the plan was made for.
func prepare(ctx context.Context, r *harness.Runner, p sweep.Plan) error {
	if err := r.Prepare(ctx, p.Containerd); err != nil {
		return prepareError(err)
	}
	return p.CheckSubject(ctx)
}

// sweepError gives an error before the sweep its exit status: what the user chose is usage, a workload that does not hold is invalid.
func sweepError(err error) error {
	var trace *sweep.TraceError
	if errors.As(err, &trace) {
		return statusError{statusInvalid, err}
	}
	return err
}

// report tells what was found, with the case of each new finding, and returns the exit status as an error.
func (f *sweepFlags) report(ctx context.Context, r *harness.Runner, slots sweep.Slots, h sweep.Head, results []sweep.Result, out io.Writer) error {
	rep := sweep.NewReport(h, results, catalogue.Findings())
	if f.replay > 0 && h.Shard.Whole() {
		m := sweep.Minimiser{Engine: r, Out: f.out, Replays: f.replay, Parallel: f.parallel, Slots: slots}
		for i := range rep.New {
			if err := m.Show(ctx, h.Plan, &rep.New[i]); err != nil {
				return statusError{statusInvalid, fmt.Errorf("%w; the cases are done: shimquake sweep --resume %s", err, f.out)}
			}
		}
	}
	var err error
	if f.json {
		err = rep.JSON(out)
	} else {
		_, err = fmt.Fprint(out, rep)
	}
	if err != nil {
		return err
	}
	if status := rep.Status(); status != statusHeld {
		return statusError{status: status}
	}
	return nil
}

func sweepMergeCommand() *cobra.Command {
	var f sweepFlags
	c := &cobra.Command{
		Use:   "merge DIR...",
		Short: "Put the shards of one plan together, and report as one machine would have",
		Args:  cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, dirs []string) error {
			if err := f.check(); err != nil {
				return err
			}
			h, results, err := sweep.Merge(dirs)
			if err != nil {
				return err
			}
			r := &harness.Runner{Evidence: filepath.Join(f.out, "evidence"), Log: os.Stderr}
			return f.report(cmd.Context(), r, nil, h, results, cmd.OutOrStdout())
		},
	}
	f.registerCommon(c)
	return c
}

func sweepReportCommand() *cobra.Command {
	f := sweepFlags{}
	c := &cobra.Command{
		Use:   "report DIR",
		Short: "Tell what a sweep has found so far, also while it runs",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, dirs []string) error {
			h, results, err := sweep.ReadJournal(dirs[0])
			if err != nil {
				return err
			}
			return f.report(cmd.Context(), nil, nil, h, results, cmd.OutOrStdout())
		},
	}
	c.Flags().BoolVar(&f.json, "json", false, "print one JSON object a finding")
	return c
}
