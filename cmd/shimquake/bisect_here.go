package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/shimquake/shimquake/bisect"
	"github.com/shimquake/shimquake/progress"
	"github.com/shimquake/shimquake/quote"
)

// tryHere runs the case on the checkout in the working directory, and returns a status
// for git bisect run. The odds of the bug are unknown. So it prints the lowest odds at
// which these runs find a bug with the required confidence.
func (f *bisectFlags) tryHere(ctx context.Context, word string, out io.Writer) error {
	c, by, err := f.read(word)
	if err != nil {
		return err
	}
	here := revisions{names: []string{c.Name + " here"}}
	here.ready = func(context.Context, int) (string, error) { return "src:.", nil }
	t := newTrials(c, by, here, f)
	t.reported = progress.Begin(ctx, "bisect", 1, "revisions")
	defer t.reported.End()
	p := bisect.Params{Names: here.names, Batch: min(f.parallel, f.runs), Run: t.run}
	trial, err := p.Try(ctx, 0, f.runs)
	if err != nil {
		return err
	}
	t.reported.End()
	fmt.Fprintf(out, "%s: %s\n", trial.Mark, quote.Line(trial.String()))
	switch trial.Mark {
	case bisect.Bad:
		return statusError{status: statusViolated}
	case bisect.Skip:
		return statusError{gitSkip, errors.New(cmp.Or(trial.Why, "no result"))}
	}
	fmt.Fprintf(out, "confidence: %s for a bug with odds of at least %.0f %%; more --runs find rarer bugs\n",
		percent(f.confidence), 100*trial.Tally.Odds().AtMost(f.confidence))
	return nil
}
