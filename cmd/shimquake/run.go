package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"sync"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"github.com/shimquake/shimquake/catalogue"
	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/harness/runner"
)

// runFlags are the flags of commands that run cases.
type runFlags struct {
	containerd string
	count      int
	parallel   int
	out        string
	json       bool
	keep       bool
}

func (f *runFlags) register(c *cobra.Command) {
	c.Flags().StringVar(
		&f.containerd,
		"containerd",
		"",
		"the subject: a release (v1.7.2), bin:DIR or src:DIR (default: what the case says, else the newest release)",
	)
	c.Flags().IntVar(&f.count, "count", 1, "how often each case runs")
	c.Flags().IntVar(&f.parallel, "parallel", 2, "how many worlds run at once")
	c.Flags().StringVar(&f.out, "out", "out", "folder for evidence")
	c.Flags().BoolVar(&f.json, "json", false, "print one JSON object a verdict")
	c.Flags().BoolVar(&f.keep, "keep", false, "keep the evidence of cases that held, too")
}

func (f *runFlags) check() error {
	if f.count < 1 || f.parallel < 1 {
		return fmt.Errorf("--count %d --parallel %d: both must be at least 1", f.count, f.parallel)
	}
	return nil
}

func runCommand() *cobra.Command {
	var f runFlags
	c := &cobra.Command{
		Use:   "run CASE...",
		Short: "Run cases: names from the catalogue, or YAML files",
		Example: `  shimquake run shutdown-error-once
  shimquake run --containerd v2.3.7 --count 20 shutdown-error-once
  shimquake run my-case.yaml`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, words []string) error {
			if err := f.check(); err != nil {
				return err
			}
			cases := make([]harness.Case, len(words))
			for i, w := range words {
				k, err := catalogue.Find(w)
				if err != nil {
					return err
				}
				if f.containerd != "" {
					k.Containerd = f.containerd
				}
				cases[i] = k
			}
			return f.run(cmd.Context(), cases, cmd.OutOrStdout())
		},
	}
	f.register(c)
	return c
}

// run runs the cases, prints their verdicts as they come and returns the exit status as
// an error.
func (f *runFlags) run(ctx context.Context, cases []harness.Case, out io.Writer) error {
	r := &runner.Runner{Evidence: f.out + "/evidence", KeepAll: f.keep, Log: os.Stderr}
	for _, c := range cases { // one after the other, and before the clock runs
		if err := r.Prepare(ctx, c.Containerd); err != nil {
			return prepareError(err)
		}
	}
	p := newProgress(len(cases) * f.count)
	tally := map[harness.Outcome]int{}
	var mu sync.Mutex
	var g errgroup.Group
	g.SetLimit(f.parallel)
	for range f.count {
		for _, c := range cases {
			g.Go(func() error {
				v := r.Run(ctx, c)
				mu.Lock()
				defer mu.Unlock()
				tally[v.Outcome]++
				p.clear()
				defer p.step(countOf(tally))
				return f.print(out, v)
			})
		}
	}
	err := g.Wait()
	p.clear()
	if err != nil {
		return err
	}
	if !f.json && len(cases)*f.count > 1 {
		fmt.Fprintln(out, countOf(tally))
	}
	switch {
	case tally[harness.Violated] > 0:
		return statusError{status: statusViolated}
	case tally[harness.Invalid] > 0:
		return statusError{status: statusInvalid}
	}
	return nil
}

func (f *runFlags) print(out io.Writer, v harness.Verdict) error {
	if f.json {
		return json.NewEncoder(out).Encode(v)
	}
	_, err := fmt.Fprint(out, v)
	return err
}

// countOf says what came of many cases.
func countOf(tally map[harness.Outcome]int) string {
	return fmt.Sprintf("%d held, %d violated, %d invalid",
		tally[harness.Held], tally[harness.Violated], tally[harness.Invalid])
}
