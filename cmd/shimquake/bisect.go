package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/shimquake/shimquake/bisect"
	"github.com/shimquake/shimquake/catalogue"
	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/oracle/finding"
	"github.com/shimquake/shimquake/progress"
)

// bisectFlags say what is searched.
type bisectFlags struct {
	good, bad  string
	source     string // a git checkout; "" searches releases
	here       bool   // one checkout, the working directory, for git bisect run
	pre        bool
	by         []string
	confidence float64
	runs       int // of --here
	parallel   int
	out        string
	json       bool
}

// Exit statuses of --here: what git bisect run makes of them.
const (
	gitSkip  = 125
	gitAbort = 129
)

func bisectCommand() *cobra.Command {
	var f bisectFlags
	c := &cobra.Command{
		Use:   "bisect CASE --good REVISION --bad REVISION",
		Short: "Find the first release, or commit, that fixes what a case shows, or brings it",
		Long: `Bisect finds the first release that fixes what a case shows, or the first that has it: which, the older of the
two ends says. Only what is run is built. With --source it searches the commits of a git checkout, of merged
branches the merges; it works in a clone of its own, and your checkout is only read.

What is looked for is what the case says is bad at the bad end (bad: by:), or --by, or else what most runs there show.
The bad end runs until the odds of that are known; a revision is good when the case has held there so often that
the bug would have shown, with the confidence asked for, if its odds are the same there. A revision that is
violated by other findings alone, or invalid, or that cannot be built, is passed by: where it lies beside the
change, the answer names it. Releases are in the order of their versions, not of their dates.

Exit status: 0 found, 2 wrong usage, 3 not found: an end is not as it was said to be, this machine cannot run
it, or it was interrupted.

With --here it tries the checkout in the working directory, as the command of git bisect run:
0 good, 1 bad, 125 to be passed by, 129 to be ended.`,
		Example: `  shimquake bisect umount-delayed --good v1.7.35 --bad v1.7.2
  shimquake bisect shutdown-error-once --good main --bad v2.3.7 --source ../containerd
  git bisect start BAD GOOD && git bisect run shimquake bisect --here /root/case.yaml`,
		Args: func(cmd *cobra.Command, words []string) error {
			err := cobra.ExactArgs(1)(cmd, words)
			if f.here {
				return forGit(err)
			}
			return err
		},
		RunE: func(cmd *cobra.Command, words []string) error {
			if f.here {
				return forGit(f.tryHere(cmd.Context(), words[0], cmd.OutOrStdout()))
			}
			return f.run(cmd.Context(), words[0], cmd.OutOrStdout())
		},
	}
	fs := c.Flags()
	fs.StringVar(&f.good, "good", "", "a release (with --source, a commit) at which the case holds")
	fs.StringVar(&f.bad, "bad", "", "a release (with --source, a commit) at which it is violated")
	fs.StringVar(&f.source, "source", "", "search the commits of the git checkout in this folder")
	fs.BoolVar(&f.here, "here", false, "try the checkout in the working directory, for git bisect run")
	fs.BoolVar(&f.pre, "pre", false, "search pre-releases, too")
	fs.StringArrayVar(
		&f.by,
		"by",
		nil,
		"what is looked for, as 'shim task=none' (repeatable; default: what the case says)",
	)
	fs.Float64Var(&f.confidence, "confidence", 0.99, "how sure the answer must be")
	fs.IntVar(&f.runs, "runs", 8, "with --here: how often the case must hold")
	fs.IntVar(&f.parallel, "parallel", 2, "how many worlds run at once")
	fs.StringVar(&f.out, "out", "out/bisect", "folder for evidence")
	fs.BoolVar(&f.json, "json", false, "print the answer as one JSON object")
	c.SetFlagErrorFunc(func(_ *cobra.Command, err error) error {
		if slices.Contains(os.Args, "--here") {
			return forGit(err)
		}
		return err
	})
	return c
}

// check says what is wrong with the flags.
func (f *bisectFlags) check() error {
	switch {
	case f.here && (f.good != "" || f.bad != "" || f.source != "" || f.pre || f.json):
		return errors.New("--here tries one checkout: leave --good, --bad, --source, --pre and --json away")
	case !f.here && (f.good == "" || f.bad == ""):
		return errors.New("bisect needs --good and --bad: releases, or commits of --source DIR")
	case f.source != "" && f.pre:
		return errors.New("--pre is for releases: leave it away with --source")
	case !(f.confidence > 0.5 && f.confidence < 1): // NaN is neither
		return fmt.Errorf("--confidence %v: it must be above 0.5 and below 1", f.confidence)
	case f.runs < 1 || f.parallel < 1:
		return fmt.Errorf("--runs %d --parallel %d: both must be at least 1", f.runs, f.parallel)
	}
	return nil
}

// read is the case and what is looked for; none where the case and the flags say nothing.
func (f *bisectFlags) read(word string) (c harness.Case, by []finding.Match, err error) {
	if err = f.check(); err != nil {
		return c, nil, err
	}
	if c, err = catalogue.Find(word); err != nil {
		return c, nil, err
	}
	for _, text := range f.by {
		m, err := finding.ParseMatch(text)
		if err != nil {
			return c, nil, fmt.Errorf("--by: %w", err)
		}
		by = append(by, m)
	}
	return c, by, nil
}

// run searches releases or commits.
func (f *bisectFlags) run(ctx context.Context, word string, out io.Writer) (err error) {
	c, by, err := f.read(word)
	if err != nil {
		return err
	}
	begun := time.Now()
	var row revisions
	if f.source != "" {
		row, err = commitRow(ctx, f.source, f.good, f.bad)
	} else {
		row, err = releaseRow(ctx, f.good, f.bad, f.pre)
	}
	if err != nil {
		return prepareError(err)
	}
	defer func() { err = errors.Join(err, row.close()) }()

	t := newTrials(c, by, row, f)
	t.reported = progress.Begin(ctx, "bisect", t.steps(len(row.names)-2), "revisions")
	defer t.reported.End()
	answer, err := bisect.Find(ctx, bisect.Params{
		Revisions: len(row.names), OldIsBad: row.oldIsBad, Doubtful: func(i int) bool { return row.doubtful[i] },
		Confidence: f.confidence, Batch: f.parallel, Run: t.run, Learn: t.learn,
		Tell: func(trial bisect.Trial, open int) { t.tell(ctx, trial, open) },
	})
	if err != nil {
		if errors.Is(err, bisect.ErrEnd) {
			return statusError{
				statusInvalid,
				fmt.Errorf("%w: choose another release or commit, or another case (evidence: %s)",
					err, f.evidence()),
			}
		}
		return prepareError(err)
	}
	t.reported.End()
	found := t.answer(answer, time.Since(begun))
	if err := found.print(out, f.json); err != nil || f.json {
		return err
	}
	return tellNext(out, afterBisect(found, word, f.source)...)
}

func (f *bisectFlags) evidence() string { return filepath.Join(f.out, "evidence") }

// forGit makes of an error a status that git bisect run does not take for an answer.
func forGit(err error) error {
	var se statusError
	if err == nil || errors.As(err, &se) && (se.status == statusViolated || se.status == gitSkip) {
		return err
	}
	return statusError{gitAbort, err}
}
