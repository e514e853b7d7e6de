package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/shimquake/shimquake/catalogue"
	"github.com/shimquake/shimquake/catalogue/rejudge"
	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/progress"
	"github.com/shimquake/shimquake/report"
	"github.com/shimquake/shimquake/sweep"
	"github.com/shimquake/shimquake/sweep/journal"
	"github.com/shimquake/shimquake/sweep/matrix"
	"github.com/shimquake/shimquake/sweep/triage"
)

func reportCommand() *cobra.Command {
	var out string
	c := &cobra.Command{
		Use:   "report EVIDENCE...",
		Short: "Make report.html of kept histories, sweeps or a matrix: files, folders, or - for stdin",
		Long: `Report makes report.html, results.jsonl, junit.xml and summary.md of histories that "run", "sweep" and
the suites have kept. It merges the shards of a sweep. In the report of a matrix, the cells that differ from
the catalogue come first. Report needs no root and runs nothing.

Exit status: 0 the report is written, also of violated cases, 2 a history cannot be read.`,
		Example: `  shimquake report --out out out/evidence
  shimquake report --out out/report out/sweep
  shimquake report --out out/report out/matrix
  shimquake report shard1 shard2`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, words []string) error {
			d, n, err := reportOf(cmd.Context(), words, cmd.InOrStdin())
			if err == nil {
				err = writeReport(cmd.Context(), out, d, n)
			}
			if err == nil {
				_, err = fmt.Fprintln(cmd.OutOrStdout(), filepath.Join(out, report.HTMLFile))
			}
			return err
		},
	}
	c.Flags().StringVar(&out, "out", "out", "folder for the report")
	return c
}

// writeReport writes a report of n cases. The writing reads and judges their histories.
func writeReport(ctx context.Context, dir string, d report.Data, n int) error {
	w := progress.Begin(ctx, "writing the report", n, "cases")
	defer w.End()
	if all := d.Cases; all != nil {
		d.Cases = func(yield func(report.Case, error) bool) {
			for c, err := range all {
				if w.Step(""); !yield(c, err) {
					return
				}
			}
		}
	}
	return report.Write(dir, d)
}

// reportOf returns the data for a report of the arguments, and the number of their cases.
// The arguments are sweeps, a matrix or histories.
func reportOf(ctx context.Context, words []string, stdin io.Reader) (report.Data, int, error) {
	switch n := len(slices.DeleteFunc(slices.Clone(words), func(w string) bool { return !journal.Has(w) })); n {
	case 0:
		return histories(ctx, words, stdin)
	case len(words):
		return swept(words)
	}
	return report.Data{}, 0, errors.New(
		"sweeps, a matrix and other histories need a report each: run the command once for each")
}

// tabled returns the data for a report of a matrix.
func tabled(h journal.Head, results []journal.Result, without map[string]harness.Verdict, dir string) (
	report.Data, int, error) {
	t := matrix.TableOf(h, results)
	if len(t.Cells) == 0 {
		return report.Data{}, 0, fmt.Errorf("%s: no cell has run: continue with the same `shimquake matrix`", dir)
	}
	d := report.Matrix(t, without, dir)
	d.Made, d.Command = time.Now(), "shimquake matrix --releases "+strings.Join(t.Releases, ",")+" --out "+dir
	return d, len(t.Cells), nil
}

// histories returns the data for a report of kept histories. Each history is a case.
func histories(ctx context.Context, words []string, stdin io.Reader) (report.Data, int, error) {
	d := report.Data{Title: "Kept histories", Made: time.Now(), Without: map[string]harness.Verdict{}}
	var cases []report.Case
	for _, w := range words {
		err := eachKept(ctx, w, stdin, func(from string, k harness.Kept) error {
			v := rejudge.Kept(k)
			v.Evidence = filepath.Dir(from)
			if from == "" {
				v.Evidence = ""
			}
			c, err := keptCase(len(cases)+1, v, d.Without)
			cases = append(cases, c)
			return err
		})
		if err != nil {
			return d, 0, err
		}
	}
	if len(cases) == 1 {
		d.Title = cases[0].Verdict.Name + " on containerd " + cases[0].Verdict.Version
	}
	d.Cases = report.All(tellReleases(cases))
	return d, len(cases), nil
}

// keptCase returns the case of a kept verdict, with the run without the fault if there is
// one.
func keptCase(n int, v harness.Verdict, without map[string]harness.Verdict) (report.Case, error) {
	c := caseOf(n, v)
	if v.Outcome == harness.Held || v.Evidence == "" {
		return c, nil
	}
	file := filepath.Join(v.Evidence, report.WithoutFile)
	plain, err := report.ReadWithout(v.Evidence, report.WithoutFile)
	if errors.Is(err, fs.ErrNotExist) {
		return c, nil
	}
	without[file], c.Without = plain, file
	return c, err
}

// tellReleases adds the release to the text of each case if the cases ran on several
// releases.
func tellReleases(cases []report.Case) []report.Case {
	others := func(c report.Case) bool { return c.Verdict.Version != cases[0].Verdict.Version }
	if slices.ContainsFunc(cases, others) {
		for i := range cases {
			cases[i].Workload += ", " + cases[i].Verdict.Version
		}
	}
	return cases
}

// caseOf returns the case of a verdict that does not belong to a sweep.
func caseOf(n int, v harness.Verdict) report.Case {
	c := report.Case{ID: fmt.Sprintf("case-%d", n), Verdict: v, Workload: cmp.Or(string(v.Case.Workload.API), "task"),
		Replay: report.Replay(v)}
	if b, ok := shownBug(v); ok {
		c.Whose = tellBug(b, v.Version)
	} else if v.Outcome == harness.Violated && catalogue.CompareWithKnown(v) == nil {
		c.Whose = []string{"the case expects these findings on this release"}
	}
	return c
}

// swept returns the data for a report of a matrix, or of the shards of a sweep.
func swept(dirs []string) (report.Data, int, error) {
	var h journal.Head
	var results []journal.Result
	var err error
	if len(dirs) == 1 { // a whole sweep, or one shard
		h, results, err = journal.Read(dirs[0])
	} else {
		h, results, err = journal.Merge(dirs)
	}
	if err == nil && h.Other != nil {
		err = h.CheckSweep(dirs[0])
	}
	if err != nil {
		return report.Data{}, 0, err
	}
	without := map[string]harness.Verdict{}
	for _, dir := range dirs {
		of, err := report.SweptWithout(dir)
		if err != nil {
			return report.Data{}, 0, err
		}
		maps.Copy(without, of)
	}
	if h.Matrix {
		return tabled(h, results, without, dirs[0])
	}
	d := report.Sweep(h, triage.NewReport(h, results, catalogue.Excuses(), sweep.Causes(h, results)...), without, dirs...)
	d.Made = time.Now()
	return d, len(results), nil
}
