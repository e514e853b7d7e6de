package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/shimquake/shimquake/catalogue"
	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/harness/runner"
	"github.com/shimquake/shimquake/quote"
	"github.com/shimquake/shimquake/sweep/engine"
	"github.com/shimquake/shimquake/sweep/pairs"
	"github.com/shimquake/shimquake/sweep/plan"
	"github.com/shimquake/shimquake/sweep/scripts"
)

// make traces the workloads, and returns a plan of single faults or of pairs.
func (f *sweepFlags) make(ctx context.Context, e *engine.Engine) (plan.Plan, error) {
	if err := f.holdPlain(ctx, e, f.Options); err != nil {
		return plan.Plan{}, err
	}
	if len(f.pairs) > 0 {
		return pairs.Make(ctx, e, f.Options, f.pairs)
	}
	return plan.Make(ctx, e, f.Options)
}

// The lengths of the scripts that run before a sweep, without and with a kill. They are
// some 1,100 scripts.
const sweptScripts, sweptKills = 3, 2

// holdPlain runs the cases without a fault, and the scripts. All must hold. It runs no
// scripts for a sweep of some points, because the scripts would take longer. It also runs
// none for a plan that several machines share. It prints the cases that this machine
// cannot run.
func (f *sweepFlags) holdPlain(ctx context.Context, e *engine.Engine, o plan.Options) error {
	var all []harness.Case
	if o.WithDefaults().Narrowed() == "" && !f.planOnly {
		all = slices.Concat(scripts.All(sweptScripts), scripts.EnumerateKills(sweptKills))
	}
	unable, err := plan.CheckPlain(ctx, e, o, all)
	for _, v := range unable {
		fmt.Fprintf(stderr, "not run without a fault: %s: %s\n", v.Case.Name, quote.Line(v.ProblemsText()))
	}
	if failed, is := errors.AsType[*plan.TraceError](err); is {
		of := cmp.Or(failed.Verdict.Case.Containerd, failed.Verdict.Version)
		word := failed.Workload
		if _, unknown := catalogue.Find(word); unknown != nil { // a script: its file is in the evidence
			word = filepath.Join(failed.Verdict.Evidence, "case.yaml")
		}
		err = fmt.Errorf("%w\nalone: %s", err, again(of, word))
	}
	return err
}

// prepare builds the containerd of the plan. It returns an error if the binaries differ
// from the binaries of the plan.
func prepare(ctx context.Context, r *runner.Runner, p plan.Plan) error {
	if err := r.Prepare(ctx, p.Containerd); err != nil {
		return prepareError(err)
	}
	return p.CheckSubject(ctx)
}

// sweepError gives an error before the sweep its exit status. A wrong choice of the user
// is usage. A case that does not hold without a fault has the status of its verdict.
func sweepError(err error) error {
	var trace *plan.TraceError
	switch {
	case errors.Is(err, engine.ErrInterrupted):
		return statusError{statusInvalid, errors.New("interrupted before the plan was made: start again")}
	case errors.As(err, &trace) && trace.Verdict.Outcome == harness.Violated:
		return statusError{statusViolated, err}
	case errors.As(err, &trace):
		return statusError{statusInvalid, err}
	}
	return err
}
