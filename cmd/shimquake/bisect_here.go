package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/shimquake/shimquake/bisect"
	"github.com/shimquake/shimquake/catalogue"
	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/harness/runner"
	"github.com/shimquake/shimquake/oracle/finding"
	"github.com/shimquake/shimquake/progress"
	"github.com/shimquake/shimquake/sweep/engine"
)

// tryHere runs the case on the checkout in the working directory, and returns a status
// for git bisect run. The odds of the bug are unknown. So it prints the lowest odds at
// which these runs find a bug with the required confidence.
func (f *bisectFlags) tryHere(ctx context.Context, word string, out io.Writer) error {
	c, by, err := f.read(word)
	if err != nil {
		return err
	}
	spec := "src:."
	f.patches.on(&spec)
	r := &runner.Runner{Residues: catalogue.Residues(), Evidence: f.evidence(), Log: stderr}
	if err := r.Prepare(ctx, spec); err != nil {
		if err = passedBy(ctx, err); errors.As(err, new(*bisect.SkipError)) {
			return statusError{gitSkip, err}
		}
		return err
	}
	e := engine.New(r, f.parallel)
	c.Containerd = spec
	reported := progress.Begin(ctx, c.Name+" here", f.runs, "runs")
	defer reported.End()
	tally, mark := bisect.Tally{}, bisect.Mark("")
	for mark == "" {
		verdicts, err := e.Repeat(ctx, c, min(f.parallel, f.runs), nil, engine.KeepAll)
		if err != nil {
			return err
		}
		for _, v := range verdicts {
			if v.UnableHere() {
				return errors.New(v.ProblemsText())
			}
			tally[outcomeOf(v, lookedFor(c, v, by))]++
			reported.Step(tally.String())
		}
		mark = tally.Decide(f.runs)
	}
	reported.End()
	fmt.Fprintf(out, "%s: %s\n", mark, tally)
	switch mark {
	case bisect.Bad:
		return statusError{status: statusViolated}
	case bisect.Skip:
		return statusError{status: gitSkip}
	}
	fmt.Fprintf(out, "confidence: %s for a bug with odds of at least %.0f %%; more --runs find rarer bugs\n",
		percent(f.confidence), 100*tally.Odds().AtMost(f.confidence))
	return nil
}

// lookedFor returns the findings that count as the bug. They come from --by, or else from
// the case's entry for the release. If there are none, each violation counts.
func lookedFor(c harness.Case, v harness.Verdict, by []finding.Match) []finding.Match {
	if by != nil {
		return by
	}
	return declared(c, v.Version)
}
