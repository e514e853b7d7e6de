package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/shimquake/shimquake/catalogue"
	"github.com/shimquake/shimquake/foreign"
	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/harness/runner"
	"github.com/shimquake/shimquake/progress"
	"github.com/shimquake/shimquake/repro"
	"github.com/shimquake/shimquake/repro/read"
	"github.com/shimquake/shimquake/sweep/engine"
	"github.com/shimquake/shimquake/sweep/plan"
)

// reproFlags are the flags of `shimquake repro`.
type reproFlags struct {
	containerd string
	patches    patches
	runs       int
	fixedRuns  int
	parallel   int
	limit      time.Duration
	without    []string
	out        string
	json       bool
	readOnly   bool
}

func reproCommand() *cobra.Command {
	var f reproFlags
	c := &cobra.Command{
		Use:   "repro BUG|REPORT",
		Short: "Find the known bug in a report, and reproduce it on that release",
		Long: `Repro takes the id of a bug (shimquake list bugs) or a report: a text file, - for stdin, or a bundle of
shimquake audit. A report can have the output of ps, ctr, crictl and docker, the journal, and sentences between.

It prints what it understood, and the known bugs that fit with their reasons. It runs the best of them on the
reported release, and prints the fix. If none fits, it searches for a case with the same leak, as long as --for
allows.

Exit status: 0 the bugs that fit were run and held, 1 reproduced, or found by the search, 2 wrong usage or bad
input, 3 no bug fits, or its runs show nothing, and the search found nothing.`,
		Example: `  sudo shimquake repro report.txt
  journalctl -u containerd --since yesterday | sudo shimquake repro -
  shimquake repro --read-only report.txt       # prints what it understands and what fits
  sudo shimquake repro containerd-7496 --containerd v1.7.2`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, words []string) error {
			if f.runs < 1 || f.fixedRuns < 0 || f.parallel < 1 || f.limit < 0 {
				return fmt.Errorf("--runs %d --fixed-runs %d --parallel %d --for %s: --runs and --parallel must be at least 1, "+
					"and the others must not be negative",
					f.runs, f.fixedRuns, f.parallel, f.limit)
			}
			if f.patches != "" && f.containerd == "" {
				return errors.New("--patch needs the containerd to patch: add --containerd")
			}
			f.patches.on(&f.containerd)
			if err := repro.CheckWithout(catalogue.Bugs(), f.without); err != nil {
				return err
			}
			return f.run(cmd.Context(), words[0], cmd.InOrStdin(), cmd.OutOrStdout())
		},
	}
	fl := c.Flags()
	fl.StringVar(&f.containerd, "containerd", "",
		"the containerd to run: a release, bin:DIR or src:DIR (default: the report's, or the last that has the bug)")
	f.patches.register(fl)
	fl.IntVar(&f.runs, "runs", 5, "the number of runs of a bug's case")
	fl.IntVar(&f.fixedRuns, "fixed-runs", 2, "the number of runs on the first fixed release; 0: none")
	fl.IntVar(&f.parallel, "parallel", 3, "the number of concurrent cases, without cases that only wait for clean-up")
	fl.DurationVar(&f.limit, "for", 10*time.Minute, "the time for a search if no known bug fits; 0: do not search")
	fl.StringSliceVar(&f.without, "without", nil, "leave out these bugs, as if they were unknown")
	fl.StringVar(&f.out, "out", "out/repro", "folder for evidence and for the cases that a search finds")
	fl.BoolVar(&f.json, "json", false, "print the result as one JSON object")
	fl.BoolVar(&f.readOnly, "read-only", false, "only print what is understood and which bugs fit; needs no root")
	return c
}

func (f *reproFlags) run(ctx context.Context, word string, in io.Reader, out io.Writer) error {
	r := &runner.Runner{
		Residues: catalogue.Residues(), Evidence: filepath.Join(f.out, "evidence"), KeepAll: true, Log: stderr,
	}
	o := repro.Options{
		Trier: repro.Trier{
			Runner: r, Engine: engine.New(r, f.parallel), Runs: f.runs, Log: progress.Writer(ctx, stderr),
		},
		Containerd: f.containerd, Bugs: catalogue.BySeverity(), Without: f.without, FixedRuns: f.fixedRuns,
		For: f.limit, Out: f.out,
	}
	b, ok, err := bugNamed(word)
	if err != nil {
		return fmt.Errorf("%w; or name a report's file, or - for stdin", err)
	}
	if ok {
		return f.answer(ctx, word, o, out, func(o repro.Options) (repro.Answer, error) { return repro.ForBug(ctx, b, o) })
	}
	pasted, err := readReport(word, in)
	if err != nil {
		return err
	}
	if !f.json {
		o.OnRead = func(a repro.Answer) { fmt.Fprintf(out, "%s\n%s\n", a.ReadText(), a.FitsText()) }
	}
	if f.readOnly {
		a := repro.Match(pasted, o)
		if !f.json {
			o.OnRead(a)
			_, err := fmt.Fprint(out, a.Help())
			return err
		}
		return json.NewEncoder(out).Encode(a)
	}
	return f.answer(ctx, word, o, out, func(o repro.Options) (repro.Answer, error) {
		return repro.ForReport(ctx, pasted, o)
	})
}

// answer runs the needed cases, writes the report and prints the result.
func (f *reproFlags) answer(ctx context.Context, word string, o repro.Options, out io.Writer,
	ask func(repro.Options) (repro.Answer, error)) error {
	rep, err := newReproReport(f.out)
	if err != nil {
		return err
	}
	o.Keep = rep.keep
	a, err := ask(o)
	if err != nil {
		if a.Failed != "" && !f.json { // print the finished parts before the error
			_, _ = fmt.Fprint(out, a)
		}
		return reproError(err)
	}
	var next []step
	if len(rep.cases) > 0 {
		next = append(next, openReport(f.out, "the runs, beside runs without the fault"))
		if err := rep.write(ctx, o.Engine, word, a); err != nil {
			return statusError{statusInvalid, err}
		}
	}
	return f.print(out, a, next...)
}

// bugNamed returns the bug with the name word. ok is false if word is a file or stdin.
func bugNamed(word string) (b catalogue.Bug, ok bool, err error) {
	if _, err := os.Stat(word); err == nil || word == "-" {
		return b, false, nil
	}
	b, err = catalogue.FindBug(word)
	if strings.ContainsAny(word, "./") { // a missing file
		return b, false, nil
	}
	return b, err == nil, err
}

// maxReport is the limit of a report in bytes.
const maxReport = 1 << 30

// readReport reads a text, an audit's bundle, or stdin.
func readReport(word string, in io.Reader) (read.Report, error) {
	if word != "-" {
		file, err := foreign.OpenTyped(word, maxReport)
		if errors.Is(err, fs.ErrNotExist) {
			err = errors.New(
				"no such file: name a text file, a bundle of an audit, a bug (shimquake list bugs), or - for stdin")
			return read.Report{}, &harness.InputError{File: word, Err: err}
		}
		if err != nil {
			return read.Report{}, fmt.Errorf("read the report: %w", err)
		}
		defer file.Close() //nolint:errcheck // read-only
		in = file
	}
	report, err := read.From(in)
	if err == nil && report.Lines == 0 {
		err = repro.ErrEmpty
	}
	return report, err
}

func reproError(err error) error {
	if errors.Is(err, context.Canceled) {
		return statusError{statusInvalid, errors.New("interrupted before there was a result")}
	}
	if errors.As(err, new(*plan.TraceError)) {
		return statusError{statusInvalid, err}
	}
	return prepareError(err)
}

// print prints the result and returns its exit status as an error.
func (f *reproFlags) print(out io.Writer, a repro.Answer, next ...step) (err error) {
	if err = printResult(out, f.json, a); err == nil && !f.json {
		err = tellNext(out, next...)
	}
	return withStatus(a.Status(), err)
}
