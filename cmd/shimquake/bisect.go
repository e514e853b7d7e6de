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

// bisectFlags are the flags of `shimquake bisect`.
type bisectFlags struct {
	good, bad  string
	source     string // a git checkout; "" searches releases
	here       bool   // try only the checkout in the working directory, for git bisect run
	pre        bool
	by         []string
	confidence float64
	runs       int // of --here
	patches    patches
	parallel   int
	out        string
	json       bool
}

// Exit statuses of --here, for git bisect run.
const (
	gitSkip  = 125
	gitAbort = 129
)

func bisectCommand() *cobra.Command {
	var f bisectFlags
	c := &cobra.Command{
		Use:   "bisect CASE --good REVISION --bad REVISION",
		Short: "Find the first release or commit that fixes, or introduces, the bug of a case",
		Long: `Bisect finds the first release that fixes the bug of a case if the older end is bad. Otherwise it finds the
first release that has the bug. It builds only the releases that it runs. With --source it searches the commits
of a git checkout along first parents. It works in a clone of its own and only reads your checkout.

The bug is given by --by, or by the case (bugs:), or by the findings that most runs at the bad end share. The bad
end runs until the odds of the bug are known. A revision is good if it held so often that the bug would have
appeared, with the given confidence and the same odds. A revision that does not build, is invalid, or has only other
findings is skipped. The result names a skipped revision beside the change. Releases are sorted by version, not
by date.

Exit status: 0 found, 2 wrong usage, 3 not found (an end is not good or bad as given, this machine cannot run
the case, or it was interrupted).

With --here it tries the checkout in the working directory, as the command of git bisect run:
0 good, 1 bad, 125 skip, 129 abort.`,
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
	f.patches.register(fs)
	fs.BoolVar(&f.here, "here", false, "try the checkout in the working directory, for git bisect run")
	fs.BoolVar(&f.pre, "pre", false, "search pre-releases, too")
	fs.StringArrayVar(
		&f.by,
		"by",
		nil,
		"a finding that is the bug, such as 'shim task=none' (repeatable; default: the case's own)",
	)
	fs.Float64Var(&f.confidence, "confidence", 0.99, "the required confidence")
	fs.IntVar(&f.runs, "runs", 8, "with --here: the number of runs that must hold")
	fs.IntVar(&f.parallel, "parallel", 2, "the number of concurrent cases, without cases that only wait for clean-up")
	fs.StringVar(&f.out, "out", "out/bisect", "folder for evidence")
	fs.BoolVar(&f.json, "json", false, "print the result as one JSON object")
	c.SetFlagErrorFunc(func(_ *cobra.Command, err error) error {
		if slices.Contains(os.Args, "--here") {
			return forGit(err)
		}
		return err
	})
	return c
}

// check returns an error for invalid flags.
func (f *bisectFlags) check() error {
	switch {
	case f.here && (f.good != "" || f.bad != "" || f.source != "" || f.pre || f.json):
		return errors.New("--here tries one checkout: leave out --good, --bad, --source, --pre and --json")
	case !f.here && (f.good == "" || f.bad == ""):
		return errors.New("bisect needs --good and --bad: releases, or commits of --source DIR")
	case f.source != "" && f.pre:
		return errors.New("--pre is for releases: leave it out with --source")
	case !(f.confidence > 0.5 && f.confidence < 1): // NaN is neither
		return fmt.Errorf("--confidence %v: it must be above 0.5 and below 1", f.confidence)
	case f.runs < 1 || f.parallel < 1:
		return fmt.Errorf("--runs %d --parallel %d: both must be at least 1", f.runs, f.parallel)
	}
	return nil
}

// read returns the case, and the findings of --by, if any.
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
		Names: row.names, OldIsBad: row.oldIsBad, Doubtful: row.doubtful,
		Confidence: f.confidence, Batch: f.parallel, Run: t.run, Learn: t.learn,
		Decided: func(trial bisect.Trial, open int) { t.tell(ctx, trial, open) },
	})
	if err != nil {
		if errors.Is(err, bisect.ErrEnd) {
			return statusError{
				statusInvalid,
				fmt.Errorf("%w: choose another release or commit for --good and --bad, or another case (evidence: %s)",
					err, f.evidence()),
			}
		}
		return prepareError(err)
	}
	t.reported.End()
	found := t.answer(answer, time.Since(begun))
	if err := printResult(out, f.json, found); err != nil || f.json {
		return err
	}
	return tellNext(out, afterBisect(found, word, f.source)...)
}

func (f *bisectFlags) evidence() string { return filepath.Join(f.out, "evidence") }

// forGit gives an error a status that stops git bisect run. Errors that are results keep
// their status.
func forGit(err error) error {
	se, ok := errors.AsType[statusError](err)
	if err == nil || ok && (se.status == statusViolated || se.status == gitSkip) {
		return err
	}
	return statusError{gitAbort, err}
}
