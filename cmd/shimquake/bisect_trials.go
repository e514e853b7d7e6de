package main

import (
	"context"
	"errors"
	"fmt"
	"math/bits"
	"slices"
	"strings"

	"github.com/shimquake/shimquake/bisect"
	"github.com/shimquake/shimquake/catalogue"
	"github.com/shimquake/shimquake/fixtures/containerd"
	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/harness/runner"
	"github.com/shimquake/shimquake/oracle/compare"
	"github.com/shimquake/shimquake/oracle/finding"
	"github.com/shimquake/shimquake/oracle/rate"
	"github.com/shimquake/shimquake/progress"
	"github.com/shimquake/shimquake/quote"
	"github.com/shimquake/shimquake/spelling"
	"github.com/shimquake/shimquake/sweep/engine"
)

// trials runs a case at revisions.
type trials struct {
	c        harness.Case
	by       []finding.Match // The findings that count as the bug; nil until learn has chosen them.
	row      revisions
	flags    *bisectFlags
	rev      int // The prepared revision, or -1.
	spec     string
	engine   *engine.Engine
	measured []harness.Verdict // The verdicts at the bad end, until learn has chosen the findings.
	reported *progress.Work
	runs     int // The runs of the prepared revision.
	decided  int // The number of decided revisions.
}

func newTrials(c harness.Case, by []finding.Match, row revisions, f *bisectFlags) *trials {
	return &trials{c: c, by: by, row: row, flags: f, rev: -1}
}

// run runs the case several times at a revision, and returns the outcomes.
func (t *trials) run(ctx context.Context, rev, runs int) ([]bisect.Outcome, error) {
	if rev != t.rev {
		if err := t.prepare(ctx, rev); err != nil {
			return nil, err
		}
	}
	t.reported.SetStep(fmt.Sprintf("%s, runs %d to %d", t.row.names[rev], t.runs+1, t.runs+runs))
	t.runs += runs
	t.c.Containerd = t.spec
	verdicts, err := t.engine.Repeat(ctx, t.c, runs, nil, engine.KeepAll)
	if err != nil {
		return nil, err
	}
	out := make([]bisect.Outcome, len(verdicts))
	for i, v := range verdicts {
		if v.UnableHere() {
			return nil, statusError{statusInvalid, errors.New(v.ProblemsText())}
		}
		if t.by == nil {
			t.by = declared(t.c, v.Version)
		}
		if t.by == nil {
			t.measured = append(t.measured, v)
		}
		out[i] = outcomeOf(v, t.by)
	}
	return out, nil
}

// prepare prepares the containerd of a revision. Each revision gets a new runner, because
// a runner caches containerds by name, and all commits have the same name.
func (t *trials) prepare(ctx context.Context, rev int) error {
	t.reported.SetStep(t.row.names[rev])
	spec, err := t.row.ready(ctx, rev)
	if err != nil {
		return err
	}
	t.flags.patches.on(&spec)
	r := &runner.Runner{Residues: catalogue.Residues(), Evidence: t.flags.evidence(), Log: stderr}
	if err := r.Prepare(ctx, spec); err != nil {
		return passedBy(ctx, err)
	}
	t.rev, t.spec, t.engine, t.runs = rev, spec, engine.New(r, t.flags.parallel), 0
	return nil
}

// passedBy returns a SkipError for a revision that does not exist or does not build. It
// returns other errors unchanged: something that the machine lacks is missing for all
// revisions.
func passedBy(ctx context.Context, err error) error {
	unbuilt := errors.As(err, new(*spelling.UnknownError)) || errors.As(err, new(*containerd.BuildError)) ||
		errors.As(err, new(*containerd.PatchError))
	if ctx.Err() == nil && unbuilt && !runner.IsUnsupported(err) {
		return &bisect.SkipError{Err: err}
	}
	return err
}

// outcomeOf returns whether a verdict shows the bug. If by is empty, each violation
// counts.
func outcomeOf(v harness.Verdict, by []finding.Match) bisect.Outcome {
	switch v.Outcome {
	case harness.Held:
		return bisect.Held
	case harness.Violated:
		isBug := func(f finding.Finding) bool { return finding.AnyMatches(by, f) }
		if by == nil || slices.ContainsFunc(v.Violations(), isBug) {
			return bisect.Bug
		}
		return bisect.Other
	}
	return bisect.Invalid
}

// learn returns the odds of the bug at the bad end. If the findings of the bug are not
// known, it first chooses the findings that the most violated runs share.
func (t *trials) learn(tally bisect.Tally) rate.Odds {
	if t.by != nil || tally[bisect.Bug] == 0 {
		return tally.Odds()
	}
	t.by = common(t.measured)
	again := bisect.Tally{}
	for _, v := range t.measured {
		again[outcomeOf(v, t.by)]++
	}
	return again.Odds()
}

// declared returns the findings of the bugs that the case names, and that the version
// may have.
func declared(c harness.Case, version string) (all []finding.Match) {
	for _, b := range catalogue.Known(c, version) {
		all = append(all, b.Left...)
	}
	return all
}

// common returns the findings that the highest number of violated runs share. It omits
// facts that differ between runs, and findings that are consequences of another finding.
func common(verdicts []harness.Verdict) []finding.Match {
	count, most := map[finding.Match]int{}, 0
	for _, v := range verdicts {
		found := v.Violations()
		once := map[finding.Match]bool{}
		for _, f := range found {
			if !slices.ContainsFunc(found, func(o finding.Finding) bool { return compare.FollowsFrom(f, o) }) {
				once[finding.Match{Class: f.Class, Facts: f.Facts.Cause()}] = true
			}
		}
		for m := range once {
			count[m]++
			most = max(most, count[m])
		}
	}
	var all []finding.Match
	for m, n := range count {
		if n == most {
			all = append(all, m)
		}
	}
	slices.SortFunc(all, func(a, b finding.Match) int { return strings.Compare(a.String(), b.String()) })
	return all
}

// steps returns the number of revisions that the search still tries: the untried ends,
// and the steps of a binary search in the open range.
func (t *trials) steps(open int) int { return bits.Len(uint(open)) + max(2-t.decided, 0) }

// tell reports the result of a revision.
func (t *trials) tell(ctx context.Context, trial bisect.Trial, open int) {
	t.decided++
	t.reported.Step("")
	t.reported.SetRemaining(t.steps(open))
	fmt.Fprintf(progress.Writer(ctx, stderr), "shimquake: %s: %s (%s); %d open\n", trial.Revision, trial.Mark,
		quote.Line(trial.String()), open)
}
