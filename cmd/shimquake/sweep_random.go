package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/shimquake/shimquake/catalogue"
	"github.com/shimquake/shimquake/foreign"
	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/harness/runner"
	"github.com/shimquake/shimquake/progress"
	"github.com/shimquake/shimquake/report"
	"github.com/shimquake/shimquake/sweep/engine"
	"github.com/shimquake/shimquake/sweep/journal"
	"github.com/shimquake/shimquake/sweep/plan"
	"github.com/shimquake/shimquake/sweep/random"
)

// randomFlags are the flags of `shimquake sweep --random`.
type randomFlags struct {
	on     bool
	length time.Duration
	plans  int
	seed   uint64
}

func (f *randomFlags) register(c *cobra.Command) {
	c.Flags().BoolVar(&f.on, "random", false,
		"run random plans of up to four faults, until --for or --plans")
	c.Flags().DurationVar(&f.length, "for", 0, "stop starting random plans after this time")
	c.Flags().IntVar(&f.plans, "plans", 0, "the maximum number of random plans")
	c.Flags().Uint64Var(&f.seed, "seed", 0,
		"the seed of the first random plan; later plans count up from it (default: a new seed, which is printed)")
}

func (f *randomFlags) check() error {
	switch {
	case !f.on && (f.length != 0 || f.plans != 0 || f.seed != 0):
		return errors.New("--for, --plans and --seed need --random")
	case f.on && (f.length <= 0 && f.plans <= 0 || f.length < 0 || f.plans < 0):
		return errors.New("--random needs an end: --for 30m, or --plans 100")
	}
	return nil
}

// randomPlans fills in the default workloads and actions of random plans.
func randomPlans(o plan.Options) plan.Options {
	if len(o.Workloads) == 0 {
		o.Workloads = []string{"task", "two", "grouped", "restart", "cri"}
	}
	if len(o.Actions) == 0 {
		o.Actions = []string{"crash", "error", "cancel", "deadline", "delay(200)"}
	}
	o.EveryWorkload, o.Hits = true, "path"
	return o
}

// random draws random plans, runs them and reports the results.
func (f *sweepFlags) random(ctx context.Context, out io.Writer) (err error) {
	r := f.runner()
	e := engine.New(r, f.parallel)
	base := filepath.Join(f.out, "plan.json")
	d := &random.Random{
		Engine: e, Seed: cmp.Or(f.randoms.seed, rand.Uint64()>>16|1), // Short enough to type.
		For: f.randoms.length, Plans: f.randoms.plans,
	}
	if err := os.MkdirAll(f.out, 0o755); err != nil {
		return fmt.Errorf("random plans: %w", err)
	}
	if d.Base, err = f.randomBase(ctx, r, e, base); err != nil {
		return sweepError(err)
	}
	draws, err := foreign.OpenFile(filepath.Join(f.out, "draws.jsonl"), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return fmt.Errorf("random plans: %w", err)
	}
	defer func() { err = errors.Join(err, draws.Close()) }()
	histories, err := harness.OpenHistories(filepath.Join(f.out, harness.HistoriesFile))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, histories.Close()) }()
	d.Keep = histories.Keep
	fmt.Fprintf(stderr, "random plans from seed %d and the points of %s\n", d.Seed, base)
	toFile, toOut := json.NewEncoder(draws), json.NewEncoder(out)
	d.OnDraw = func(d random.Draw) error {
		if f.json {
			if err := progress.Interrupt(ctx, func() error { return toOut.Encode(d) }); err != nil {
				return err
			}
		}
		return toFile.Encode(d)
	}
	drawn, err := d.Run(ctx)
	if err != nil {
		return statusError{statusInvalid,
			fmt.Errorf("%w after %d random plans; they are in %s", err, len(drawn), draws.Name())}
	}
	rep, err := random.NewReport(ctx, drawn, d.Base, base, f.minimiser(e), catalogue.Excuses())
	if err == nil {
		err = f.writeRandom(ctx, e, rep, drawn)
	}
	if err != nil {
		return statusError{statusInvalid, err}
	}
	return f.print(rep, out, afterSweep(rep.Report, d.Base.Containerd, f.out)...)
}

// writeRandom writes the report's files into the folder of random plans.
func (f *sweepFlags) writeRandom(ctx context.Context, e *engine.Engine, rep random.Report, drawn []random.Draw) error {
	results := make([]journal.Result, len(drawn))
	for i, d := range drawn {
		results[i] = d.Result
	}
	todo, err := violatedWorkloads(rep.Plan, results)
	if err != nil {
		return err
	}
	without, err := runWithout(ctx, e, todo, f.out)
	if err != nil {
		return err
	}
	d := report.Random(rep, drawn, without, f.out)
	d.Made, d.Command = time.Now(), typedCommand()
	return writeReport(ctx, f.out, d, len(drawn))
}

// randomBase returns the plan of single faults from which the random plans are drawn. It
// keeps that plan in a file, because a seed gives the same random plans only with the
// same points.
func (f *sweepFlags) randomBase(ctx context.Context, r *runner.Runner, e *engine.Engine, file string) (
	plan.Plan, error) {
	if f.plan != "" {
		p, err := plan.Read(f.plan)
		if err == nil {
			err = prepare(ctx, r, p)
		}
		if err != nil {
			return p, err
		}
		return p, p.Write(file)
	}
	if err := r.Prepare(ctx, f.Containerd); err != nil {
		return plan.Plan{}, prepareError(err)
	}
	o := randomPlans(f.Options)
	var err error
	if o.Cache, err = plan.CacheDir(ctx, o.Containerd); err != nil {
		return plan.Plan{}, err
	}
	if err := f.holdPlain(ctx, e, o); err != nil {
		return plan.Plan{}, err
	}
	p, err := plan.Make(ctx, e, o)
	if err != nil {
		return p, err
	}
	return p, p.Write(file)
}
