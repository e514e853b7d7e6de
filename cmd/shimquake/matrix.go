package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"runtime"
	"slices"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/mod/semver"

	"github.com/shimquake/shimquake/catalogue"
	"github.com/shimquake/shimquake/fixtures/containerd"
	"github.com/shimquake/shimquake/harness/runner"
	"github.com/shimquake/shimquake/progress"
	"github.com/shimquake/shimquake/quote"
	"github.com/shimquake/shimquake/report"
	"github.com/shimquake/shimquake/sweep/engine"
	"github.com/shimquake/shimquake/sweep/matrix"
)

type matrixFlags struct {
	releases       []string
	patches        patches
	parallel, runs int
	out            string
	markdown, json bool
	ends           bool
	signatures     string
}

func matrixCommand() *cobra.Command {
	var f matrixFlags
	c := &cobra.Command{
		Use:   "matrix [BUG...]",
		Short: "Run the cases of bugs on several releases, and compare with the catalogue",
		Long: `Run each bug's case on each release as often as its odds require, and print where the catalogue is
wrong. An interrupted run continues with the journal in --out. It does not repeat cells with the same case.

Exit status: 0 all cells match the catalogue, 1 a cell differs, 2 wrong usage, 3 a cell is inconclusive.`,
		Example: `  shimquake matrix --releases v1.7.35,v2.3.7,v2.4.2
  shimquake matrix 8981 7496 --releases v1.7.3,v1.7.4,v2.3.7,v2.4.2
  shimquake matrix --ends 7496 8981`,
		RunE: func(cmd *cobra.Command, words []string) error { return f.run(cmd.Context(), words, cmd.OutOrStdout()) },
	}
	c.Flags().StringSliceVar(&f.releases, "releases", newest(), "the releases, or bin:DIR and src:DIR")
	f.patches.register(c.Flags())
	c.Flags().BoolVar(&f.ends, "ends", false, "use each bug's own releases: the last bad and the first fixed one")
	c.Flags().IntVar(&f.parallel, "parallel", runtime.NumCPU(),
		"the number of concurrent cases, without cases that only wait for clean-up")
	tellDefault(c, "parallel", "one per CPU")
	c.Flags().IntVar(&f.runs, "runs", 0, "the number of runs of each cell (default: by the odds of the bug)")
	c.Flags().StringVar(&f.out, "out", "out/matrix", "folder for the journal and the evidence")
	c.Flags().BoolVar(&f.markdown, "markdown", false, "print the page docs/bugs/matrix.md")
	c.Flags().StringVar(&f.signatures, "signatures", "",
		"also write the log statements of each shown bug into this file (catalogue/signatures.jsonl)")
	c.Flags().BoolVar(&f.json, "json", false, "print one JSON object per cell")
	c.MarkFlagsMutuallyExclusive("ends", "releases")
	c.MarkFlagsMutuallyExclusive("ends", "patch")
	c.MarkFlagsMutuallyExclusive("ends", "markdown") // The page has one column for each release.
	return c
}

// newest returns the newest release of each branch that is in use.
func newest() []string {
	return []string{"v1.7.35", "v2.0.14", "v2.1.9", "v2.2.9", "v2.3.7", containerd.DefaultRelease}
}

func (f *matrixFlags) run(ctx context.Context, words []string, out io.Writer) error {
	bugs, err := f.bugs(words)
	if err != nil {
		return err
	}
	var of map[string][]string
	if f.ends {
		of = map[string][]string{}
		f.releases = nil
		for _, b := range bugs {
			of[b.ID] = b.Releases.Ends()
			f.releases = append(f.releases, of[b.ID]...)
		}
		slices.SortFunc(f.releases, semver.Compare)
		f.releases = slices.Compact(f.releases)
	}
	for i := range f.releases {
		f.patches.on(&f.releases[i])
	}
	r := &runner.Runner{Residues: catalogue.Residues(), Evidence: filepath.Join(f.out, "evidence"), Log: stderr}
	for _, release := range f.releases { // Builds run one by one, and do not count in the duration.
		if err := r.Prepare(ctx, release); err != nil {
			return prepareError(err)
		}
	}
	r.KeepAll = f.signatures != ""
	e := engine.New(r, f.parallel)
	m := matrix.Matrix{
		Bugs: bugs, Releases: f.releases, Of: of, Engine: e, Dir: f.out, Runs: f.runs,
	}
	m.OnCell = func(c matrix.Cell) { tellCell(ctx, c) }
	began := time.Now()
	t, err := m.Run(ctx)
	ended := errors.Is(err, engine.ErrInterrupted)
	if ended {
		err = nil
	}
	if err == nil && !ended {
		if f.signatures != "" {
			err = f.record(ctx, t, e)
		}
		err = errors.Join(err, f.write(ctx, e, t))
	}
	if err != nil {
		return statusError{statusInvalid, err}
	}
	if err := f.print(t, time.Since(began), out); err != nil {
		return err
	}
	if ended {
		return statusError{statusInvalid, fmt.Errorf("%w after %d of %d cells; the same command continues with %s",
			engine.ErrInterrupted, len(t.Cells), m.Cells(), f.out)}
	}
	return withStatus(t.Status(), nil)
}

func (f *matrixFlags) bugs(words []string) (bugs []catalogue.Bug, err error) {
	if f.parallel < 1 || f.runs < 0 || len(f.releases) == 0 {
		return nil, errors.New(
			"--parallel must be at least 1, --runs must not be negative, and --releases must name a release")
	}
	if f.markdown && f.json {
		return nil, errors.New("use --markdown or --json, not both")
	}
	if len(words) == 0 {
		return slices.DeleteFunc(catalogue.BySeverity(), func(b catalogue.Bug) bool { return len(b.Cases) == 0 }), nil
	}
	for _, w := range words {
		b, err := catalogue.FindBug(w)
		if err != nil {
			return nil, err
		}
		if len(b.Cases) == 0 {
			return nil, fmt.Errorf("%s has no case to run: shimquake show %s prints what was tried", b.ID, b.ID)
		}
		bugs = append(bugs, b)
	}
	return bugs, nil
}

// write writes the report's files.
func (f *matrixFlags) write(ctx context.Context, e *engine.Engine, t matrix.Table) error {
	_, violated := cellsSeen(t, matrix.Shown, matrix.Other)
	without, err := runWithout(ctx, e, violated, f.out)
	if err != nil {
		return err
	}
	d := report.Matrix(t, without, f.out)
	d.Made, d.Command = time.Now(), typedCommand()
	n := 0
	for _, c := range t.Cells {
		n += len(c.Histories)
	}
	return writeReport(ctx, f.out, d, n)
}

func (f *matrixFlags) print(t matrix.Table, took time.Duration, out io.Writer) error {
	switch {
	case f.json:
		return t.JSON(out)
	case f.markdown:
		_, err := io.WriteString(out, t.Markdown(time.Now()))
		return err
	}
	if _, err := fmt.Fprintf(out, "%sin %s\n", t, took.Round(time.Second)); err != nil {
		return err
	}
	return tellNext(out, afterMatrix(t, f.out)...)
}

// tellCell prints a cell that differs or is invalid.
func tellCell(ctx context.Context, c matrix.Cell) {
	if c.Differs() || c.Seen == matrix.Invalid {
		// An error of stderr does not matter: the table repeats the line.
		_ = progress.Interrupt(ctx, func() error {
			_, err := fmt.Fprintln(stderr, quote.Line(c.String()))
			return err
		})
	}
}
