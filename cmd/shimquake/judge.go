package main

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/shimquake/shimquake/catalogue/rejudge"
	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/harness/judge"
	"github.com/shimquake/shimquake/progress"
)

func judgeCommand() *cobra.Command {
	var asJSON, changed bool
	c := &cobra.Command{
		Use:   "judge EVIDENCE...",
		Short: "Judge kept histories again: files, folders, sweeps, or - for stdin",
		Long: `Judge applies today's rules to the histories that "run", "sweep" and the suites kept (history.json).
It needs no root and runs nothing. If a verdict differs from the one of the run, it prints both.
With --changed it prints only such verdicts, and fails only for them.

Exit status: 0 all held, 1 one is violated (--changed: one differs), 2 a history cannot be read,
3 one is invalid, or there is none.`,
		Example: `  shimquake judge out/evidence
  shimquake judge out/evidence/umount-delayed-20261121-161856-w1a9d9c7a
  shimquake judge out/sweep
  zcat out/sweep/histories.jsonl.gz | shimquake judge -`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, words []string) error {
			j := judging{out: cmd.OutOrStdout(), json: asJSON, changed: changed, tally: map[harness.Outcome]int{}}
			reported := progress.Begin(cmd.Context(), "judging", 0, "histories")
			defer reported.End()
			for _, w := range words {
				if err := eachKept(cmd.Context(), w, cmd.InOrStdin(), func(_ string, k harness.Kept) error {
					reported.Step("")
					return progress.Interrupt(cmd.Context(), func() error { return j.kept(k) })
				}); err != nil {
					return err
				}
			}
			reported.End()
			return j.status()
		},
	}
	c.Flags().BoolVar(&changed, "changed", false, "print only verdicts that differ from those of the runs")
	c.Flags().BoolVar(&asJSON, "json", false, "print one JSON object per verdict")
	return c
}

// judging judges histories one after the other, and counts the verdicts.
type judging struct {
	out     io.Writer
	json    bool
	changed bool
	tally   map[harness.Outcome]int
	other   int // The number of verdicts that differ from the verdict of the run.
}

// kept judges one history. It also prints an old verdict that differs.
func (j *judging) kept(k harness.Kept) error {
	v := rejudge.Kept(k)
	j.tally[v.Outcome]++
	same := judge.Same(v, k.Verdict)
	if !same {
		j.other++
	}
	if same && j.changed {
		return nil
	}
	err := printVerdict(j.out, j.json, v)
	if err == nil && !same && !j.json {
		_, err = fmt.Fprintf(
			j.out,
			"  was:   %s\n",
			strings.ReplaceAll(strings.TrimSpace(k.Verdict.String()), "\n", "\n       "),
		)
	}
	return err
}

// status prints the counts and returns the exit status as an error.
func (j *judging) status() error {
	if !j.json {
		fmt.Fprintf(j.out, "%s; %d differ from the verdict of the run\n", countOf(j.tally), j.other)
	}
	switch {
	case len(j.tally) == 0:
		return statusError{statusInvalid, errors.New(
			"no history was judged, because the input has none: name a history, a folder of evidence or a sweep")}
	case j.changed && j.other > 0, !j.changed && j.tally[harness.Violated] > 0:
		return statusError{status: statusViolated}
	case !j.changed && j.tally[harness.Invalid] > 0:
		return statusError{status: statusInvalid}
	}
	return nil
}
