package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/shimquake/shimquake/catalogue"
	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/harness/runner"
	"github.com/shimquake/shimquake/progress"
	"github.com/shimquake/shimquake/report"
	"github.com/shimquake/shimquake/sweep/engine"
	"github.com/shimquake/shimquake/sweep/plan"
	"github.com/shimquake/shimquake/sweep/scripts"
)

// outDir is the folder for the results of runs without --out.
const outDir = "out"

// runFlags are the flags of commands that run cases.
type runFlags struct {
	containerd string
	patches    patches
	count      int
	parallel   int
	out        string
	json       bool
	keep       bool
	// scripts is the length of the enumerated scripts; 0: none.
	scripts int
	// kills is set if each script has a kill.
	kills bool
	// shard is the part of the scripts that runs.
	shard string
	// known is set if a case that shows its known bugs counts as held.
	known bool
}

func (f *runFlags) register(c *cobra.Command) {
	c.Flags().StringVar(
		&f.containerd,
		"containerd",
		"",
		"the containerd under test: a release (v1.7.2), bin:DIR or src:DIR "+
			"(default: the case's own, else the newest release)",
	)
	f.patches.register(c.Flags())
	c.Flags().IntVar(&f.count, "count", 1, "the number of runs of each case")
	c.Flags().IntVar(&f.parallel, "parallel", 2,
		"the number of concurrent cases, without cases that only wait for clean-up")
	c.Flags().StringVar(&f.out, "out", "",
		"folder for the report and the evidence "+
			"(default: a new folder in out for the report, out/evidence for the evidence)")
	c.Flags().BoolVar(&f.json, "json", false, "print one JSON object per verdict")
	c.Flags().BoolVar(&f.keep, "keep", false, "also keep the evidence of cases that held")
}

func (f *runFlags) check() error {
	if f.count < 1 || f.parallel < 1 {
		return fmt.Errorf("--count %d --parallel %d: both must be at least 1", f.count, f.parallel)
	}
	if f.scripts < 0 || f.scripts > scripts.Longest {
		return fmt.Errorf("--scripts %d: the number of steps must be from 1 to %d", f.scripts, scripts.Longest)
	}
	return nil
}

// enumerated returns the cases of the enumerated scripts in f.shard.
func (f *runFlags) enumerated() ([]harness.Case, error) {
	shard, err := plan.ParseShard(f.shard)
	if err != nil {
		return nil, err
	}
	all := scripts.All
	if f.kills {
		all = scripts.EnumerateKills
	}
	var cases []harness.Case
	for i, c := range all(f.scripts) {
		if shard.Has(i) {
			cases = append(cases, c)
		}
	}
	return cases, nil
}

func runCommand() *cobra.Command {
	var f runFlags
	c := &cobra.Command{
		Use:   "run [CASE...]",
		Short: "Run cases: names from the catalogue, or YAML files, or enumerated scripts",
		Long: `Run runs each case in a world of its own and prints the verdict. shimquake list cases prints the names of
cases, and docs/write-a-case.md explains the YAML file of a case. With --scripts it makes the cases itself: all
scripts of that many steps, without faults.

Exit status: 0 held, 1 violated, 2 wrong usage or bad input, 3 invalid (a fault did not fire, or this
machine cannot run it). The worst of all cases counts.`,
		Example: `  shimquake run shutdown-error-once
  shimquake run --containerd v2.3.7 --count 20 shutdown-error-once
  shimquake run my-case.yaml
  shimquake run --scripts 3 --parallel 6`,
		Args: func(_ *cobra.Command, words []string) error {
			if len(words) == 0 && f.scripts == 0 {
				return errors.New("no case to run: name one, or use --scripts")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, words []string) error {
			if err := f.check(); err != nil {
				return err
			}
			var cases []harness.Case
			for _, w := range words {
				k, err := catalogue.Find(w)
				if err != nil {
					return err
				}
				cases = append(cases, k)
			}
			if f.scripts > 0 {
				all, err := f.enumerated()
				if err != nil {
					return err
				}
				cases = append(cases, all...)
			}
			for i := range cases {
				if f.containerd != "" {
					cases[i].Containerd = f.containerd
				}
				f.patches.on(&cases[i].Containerd)
			}
			return f.run(cmd.Context(), cases, words, cmd.OutOrStdout())
		},
	}
	f.register(c)
	c.Flags().IntVar(&f.scripts, "scripts", 0, fmt.Sprintf(
		"also run all scripts of this many steps, 1 to %d, of a task and of a pod",
		scripts.Longest))
	c.Flags().BoolVar(&f.kills, "kills", false,
		"with --scripts: run only the scripts in which containerd or the shim is killed once")
	c.Flags().BoolVar(&f.known, "known", false,
		"count a case as held if its only findings are of its known bugs (key bugs)")
	c.Flags().StringVar(&f.shard, "shard", "", "with --scripts: a part of the scripts, such as 1/4")
	return c
}

// run runs the cases, prints each verdict when its run ends, and returns the exit status
// as an error.
func (f *runFlags) run(ctx context.Context, cases []harness.Case, words []string, out io.Writer) error {
	r := &runner.Runner{Residues: catalogue.Residues(), Evidence: filepath.Join(cmp.Or(f.out, outDir), "evidence"),
		KeepAll: f.keep, Log: stderr}
	for _, c := range cases { // Builds run one by one, before the first case.
		steps, _ := c.Workload.Steps() // ignored: Case.Check reports the error
		for _, name := range append(steps.Installed(), c.Containerd) {
			if err := r.Prepare(ctx, name); err != nil {
				return prepareError(err)
			}
		}
	}
	p := progress.Begin(ctx, "run of "+nameOf(cases), len(cases)*f.count, "cases")
	defer p.End()
	rep, err := f.begin(ctx, r, cases)
	if err != nil {
		return err
	}
	tally := map[harness.Outcome]int{}
	said := &repeats{}
	var next []step // after the worst
	var worst harness.Outcome
	type ran struct {
		i        int
		v, plain harness.Verdict
	}
	err = engine.Each(ctx, engine.New(r, f.parallel), engine.Indexes(f.count*len(cases)),
		func(t *engine.Task, i int) (ran, error) {
			i %= len(cases)
			v, err := t.Run(cases[i])
			t.Keep(v.Evidence)
			if errors.Is(err, engine.ErrInterrupted) && v.Outcome != "" { // the report has the run that was cut off
				return ran{i: i, v: v}, nil
			}
			if err != nil {
				return ran{}, err
			}
			return ran{i, v, rep.without(t, v)}, nil
		},
		func(_ *engine.Task, done ran) error {
			v := done.v
			outcome := v.Outcome
			if f.known && outcome == harness.Violated && catalogue.CompareWithKnown(v) == nil {
				outcome = harness.Held
			}
			tally[outcome]++
			if worse(outcome, worst) {
				worst, next = outcome, afterRun(v, wordFor(words, done.i, v), rep.dir, f.count)
			}
			defer p.Step(countOf(tally))
			if err := rep.add(v, done.plain); err != nil {
				return err
			}
			if !f.json && said.before(v) {
				return nil
			}
			return progress.Interrupt(ctx, func() error { return printVerdict(out, f.json, v) })
		})
	if errors.Is(err, engine.ErrInterrupted) { // the status says it
		err = nil
	}
	err = errors.Join(err, rep.end())
	p.End()
	if err != nil {
		return err
	}
	if !f.json && len(cases)*f.count > 1 {
		said.tell(out)
		fmt.Fprintln(out, countOf(tally))
	}
	if !f.json {
		if err := tellNext(out, next...); err != nil {
			return err
		}
	}
	switch {
	case tally[harness.Violated] > 0:
		return statusError{status: statusViolated}
	case ctx.Err() != nil:
		return statusError{statusInvalid, errors.New("interrupted: some cases did not run")}
	case tally[harness.Invalid] > 0:
		return statusError{status: statusInvalid}
	}
	return nil
}

// wordFor returns the argument that runs a case again: the typed word, or the case.yaml
// in the evidence of an enumerated script.
func wordFor(words []string, i int, v harness.Verdict) string {
	if i < len(words) {
		return words[i]
	}
	return filepath.Join(v.Evidence, "case.yaml")
}

// nameOf returns a short text for the cases.
func nameOf(cases []harness.Case) string {
	if len(cases) == 1 {
		return cases[0].Name
	}
	return fmt.Sprintf("%s and %d more", cases[0].Name, len(cases)-1)
}

// worse reports whether outcome a is worse than b.
func worse(a, b harness.Outcome) bool {
	order := map[harness.Outcome]int{harness.Held: 1, harness.Invalid: 2, harness.Violated: 3}
	return order[a] > order[b]
}

// typedCommand returns the command line as it was typed.
func typedCommand() string { return "shimquake " + strings.Join(os.Args[1:], " ") }

// begin creates the report of a run.
func (f *runFlags) begin(ctx context.Context, r *runner.Runner, cases []harness.Case) (*runReport, error) {
	names := make([]string, len(cases))
	for i, c := range cases {
		names[i] = c.Name
	}
	d := report.Data{Title: "Run of " + strings.Join(names, ", "), Command: typedCommand(), Made: time.Now(),
		Evidence: r.Evidence}
	rep := &runReport{ctx: ctx, dir: f.out, plain: map[string]func() harness.Verdict{}}
	var err error
	if f.out == "" {
		rep.list = outDir
		if rep.dir, err = report.NewFolder(outDir, names[0], d.Made); err != nil {
			return nil, err
		}
	}
	rep.Writer, err = report.Begin(rep.dir, d)
	return rep, err
}

// countOf returns the number of each outcome.
func countOf(tally map[harness.Outcome]int) string {
	return fmt.Sprintf("%d held, %d violated, %d invalid",
		tally[harness.Held], tally[harness.Violated], tally[harness.Invalid])
}
