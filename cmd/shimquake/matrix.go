package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/mod/semver"

	"github.com/shimquake/shimquake/catalogue"
	"github.com/shimquake/shimquake/fixtures/containerd"
	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/harness/runner"
	"github.com/shimquake/shimquake/progress"
	"github.com/shimquake/shimquake/quote"
	"github.com/shimquake/shimquake/report"
	"github.com/shimquake/shimquake/sweep"
	"github.com/shimquake/shimquake/sweep/matrix"
)

type matrixFlags struct {
	releases       []string
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
		Short: "Run the cases of bugs on several releases, and compare with what the catalogue says",
		Long: `Run each bug's case on each release, as often as its odds ask for, and say where the catalogue is
wrong. A run that was ended goes on with the journal in --out; cells that it has, of the same case, are
not run again.

Exit status: 0 all is as the catalogue says, 1 a cell differs, 2 wrong usage, 3 a cell shows nothing.`,
		Example: `  shimquake matrix --releases v1.7.35,v2.3.7,v2.4.2
  shimquake matrix 8981 7496 --releases v1.7.3,v1.7.4,v2.3.7,v2.4.2
  shimquake matrix --ends 7496 8981`,
		RunE: func(cmd *cobra.Command, words []string) error { return f.run(cmd.Context(), words, cmd.OutOrStdout()) },
	}
	c.Flags().StringSliceVar(&f.releases, "releases", newest(), "the releases, or bin:DIR and src:DIR")
	c.Flags().BoolVar(&f.ends, "ends", false, "of each bug its own releases: the last that has it, and the first without")
	c.Flags().IntVar(&f.parallel, "parallel", runtime.NumCPU(), "how many cases work at once")
	tellDefault(c, "parallel", "one a CPU")
	c.Flags().IntVar(&f.runs, "runs", 0, "how often each cell runs (default: as often as its odds ask for)")
	c.Flags().StringVar(&f.out, "out", "out/matrix", "folder for the journal and the evidence")
	c.Flags().BoolVar(&f.markdown, "markdown", false, "print the page docs/bugs/matrix.md")
	c.Flags().StringVar(&f.signatures, "signatures", "",
		"also write the log statements of each shown bug into this file (catalogue/signatures.jsonl)")
	c.Flags().BoolVar(&f.json, "json", false, "print a JSON object a cell")
	c.MarkFlagsMutuallyExclusive("ends", "releases")
	c.MarkFlagsMutuallyExclusive("ends", "markdown") // the page has a column a release
	return c
}

// newest are the newest release of each branch that people run.
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
	r := &runner.Runner{Residues: catalogue.Residues(), Evidence: filepath.Join(f.out, "evidence"), Log: stderr}
	for _, release := range f.releases { // one after the other, and before the clock runs
		if err := r.Prepare(ctx, release); err != nil {
			return prepareError(err)
		}
	}
	r.KeepAll = f.signatures != ""
	slots := sweep.NewSlots(f.parallel)
	r.Yield = slots.Yield
	m := matrix.Matrix{
		Bugs: bugs, Releases: f.releases, Of: of, Engine: r, Dir: f.out, Parallel: f.parallel, Slots: slots, Runs: f.runs,
	}
	if err := os.MkdirAll(f.out, 0o755); err != nil {
		return fmt.Errorf("matrix: %w", err)
	}
	histories, err := harness.OpenHistories(filepath.Join(f.out, harness.HistoriesFile))
	if err != nil {
		return err
	}
	m.Histories = histories
	m.OnCell = func(c matrix.Cell) { tellCell(ctx, c) }
	began := time.Now()
	t, err := m.Run(ctx)
	ended := errors.Is(err, matrix.ErrInterrupted)
	if ended {
		err = nil
	}
	if err = errors.Join(err, histories.Close()); err == nil && !ended {
		if f.signatures != "" {
			err = f.record(ctx, t, func(ctx context.Context, c harness.Case) harness.Verdict { return slots.Run(ctx, r, c) })
		}
		err = errors.Join(err, f.write(ctx, r, t))
	}
	if err != nil {
		return statusError{statusInvalid, err}
	}
	if err := f.print(t, time.Since(began), out); err != nil {
		return err
	}
	if ended {
		return statusError{statusInvalid, fmt.Errorf("%w after %d of %d cells; the same command goes on with %s",
			matrix.ErrInterrupted, len(t.Cells), m.Cells(), f.out)}
	}
	if status := t.Status(); status != statusHeld {
		return statusError{status: status}
	}
	return nil
}

func (f *matrixFlags) bugs(words []string) (bugs []catalogue.Bug, err error) {
	if f.parallel < 1 || f.runs < 0 || len(f.releases) == 0 {
		return nil, errors.New("--parallel of at least 1, --runs of at least 0 and one of --releases are needed")
	}
	if f.markdown && f.json {
		return nil, errors.New("--markdown or --json, not both")
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
			return nil, fmt.Errorf("%s has no case that shows it: shimquake show %s says what was tried", b.ID, b.ID)
		}
		bugs = append(bugs, b)
	}
	return bugs, nil
}

// write writes the report's files.
func (f *matrixFlags) write(ctx context.Context, r *runner.Runner, t matrix.Table) error {
	without, err := runWithout(ctx, r, violatedCells(t), f.out)
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

// tellCell prints a cell that differs, or that shows nothing.
func tellCell(ctx context.Context, c matrix.Cell) {
	if c.Differs() || c.Seen == matrix.Invalid {
		// What stderr refuses the table has, too.
		_ = progress.Interrupt(ctx, func() error {
			_, err := fmt.Fprintln(stderr, quote.Line(c.String()))
			return err
		})
	}
}
