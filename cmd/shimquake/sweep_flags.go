package main

import (
	"errors"
	"fmt"
	"regexp"
	"runtime"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

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
	// causes says whether other containerds show the findings: see readBaseline.
	causes func(journal.Head, []journal.Result) []triage.Cause
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
