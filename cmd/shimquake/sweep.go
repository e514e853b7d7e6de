package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/shimquake/shimquake/catalogue"
	"github.com/shimquake/shimquake/harness/runner"
	"github.com/shimquake/shimquake/progress"
	"github.com/shimquake/shimquake/report"
	"github.com/shimquake/shimquake/sweep"
	"github.com/shimquake/shimquake/sweep/engine"
	"github.com/shimquake/shimquake/sweep/journal"
	"github.com/shimquake/shimquake/sweep/plan"
	"github.com/shimquake/shimquake/sweep/triage"
)

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

func (f *sweepFlags) run(ctx context.Context, out io.Writer) error {
	f.patches.on(&f.Containerd)
	if err := f.check(); err != nil {
		return err
	}
	if f.resume != "" {
		f.out = f.resume
	}
	if err := f.readBaseline(); err != nil {
		return err
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
	encode := func(line any) {
		if f.json {
			// If stdout fails, printing the report fails, too.
			_ = progress.Interrupt(ctx, func() error { return json.NewEncoder(out).Encode(line) })
		}
	}
	s.OnResult = func(res journal.Result) {
		spec := s.Head.Plan.Specs[res.I]
		encode(struct {
			Spec plan.Spec `json:"spec"`
			journal.Result
		}{spec, res})
		bar.step(spec, res)
	}
	live := sweep.Live{Schedule: &s, Known: catalogue.Excuses(), Causes: f.causes, OnCluster: func(c triage.Cluster) {
		encode(struct {
			triage.Cluster
			SoFar bool `json:"newSoFar"`
		}{c, true})
		fmt.Fprint(progress.Writer(ctx, stderr), c.SoFar())
	}, OnEnd: bar.End}
	m := f.minimiser(e)
	if f.replay > 0 && f.baseline == "" {
		live.Prepare = r.Prepare
	}
	if s.Head.Shard.Whole() {
		live.Minimiser = m
	}
	results, err := live.Run(ctx)
	err = cmp.Or(err, s.Journal.Close())
	switch {
	case errors.Is(err, engine.ErrInterrupted):
		return statusError{statusInvalid, fmt.Errorf("%w after %d cases; continue with: shimquake sweep --resume %s", err,
			s.Head.Done(results), f.out)}
	case err != nil:
		return statusError{statusInvalid, err}
	}
	return f.report(ctx, r, m, s.Head, results, out)
}

func (f *sweepFlags) minimiser(e *engine.Engine) *sweep.Minimiser {
	return &sweep.Minimiser{Engine: e, Out: f.out, Replays: f.replay}
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
func (f *sweepFlags) report(ctx context.Context, r *runner.Runner, m *sweep.Minimiser, h journal.Head,
	results []journal.Result, out io.Writer) error {
	rep := f.triage(h, results)
	if len(f.shards) > 0 && f.replay > 0 && len(rep.New) > 0 {
		// Replays on other binaries could miss a finding.
		if err := prepare(ctx, r, h.Plan); err != nil {
			return statusError{statusInvalid, err}
		}
	}
	if h.Shard.Whole() {
		if err := m.ShowAll(ctx, h.Plan, &rep); err != nil {
			return statusError{statusInvalid, fmt.Errorf("%w; the cases are done: shimquake sweep --resume %s", err, f.out)}
		}
	}
	if err := f.write(ctx, m.Engine, h, results, rep); err != nil {
		return statusError{statusInvalid, err}
	}
	if !h.Shard.Whole() {
		return f.print(rep, out, openReport(f.out, "this shard only"),
			step{asRoot() + " sweep merge --out merged SHARD...", "after the other shards"})
	}
	return f.print(rep, out, afterSweep(rep, h.Plan.Containerd, f.out)...)
}

// triage returns the findings of a sweep, with their causes.
func (f *sweepFlags) triage(h journal.Head, results []journal.Result) triage.Report {
	return triage.NewReport(h, results, catalogue.Excuses(), f.causes(h, results)...)
}

// readBaseline sets causes. The further runs of the sweep tell them, and --baseline.
func (f *sweepFlags) readBaseline() error {
	f.causes = sweep.Causes
	if f.baseline == "" {
		return nil
	}
	other, others, err := journal.Read(f.baseline)
	f.causes = func(h journal.Head, results []journal.Result) []triage.Cause {
		return append(sweep.Causes(h, results), triage.Baseline(f.baseline, h.Plan, results, other.Plan, others)...)
	}
	return err
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
