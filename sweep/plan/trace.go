package plan

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/shimquake/shimquake/failpoints"
	"github.com/shimquake/shimquake/failpoints/probe/term"
	"github.com/shimquake/shimquake/failpoints/weave"
	"github.com/shimquake/shimquake/harness"
)

// AtMethod is the only moment of a point at a ttrpc method. A statement has several
// moments: see term.Moment.
const AtMethod term.Moment = "method"

// Hit is a hit of a point in a trace: a moment at which a fault can happen.
type Hit struct {
	Point  failpoints.Point
	Moment term.Moment
	// Nth numbers the point's hits with the same Moment in the whole case, from 1.
	Nth int
	// Path names what the client does at that time: create, start, exit, delete or load.
	Path string
	// Step is the number of the script's step at that time, from 1. It is 0 before the
	// first step.
	Step int
	// Callee is the function that the statement calls. It determines which errors the
	// call can return.
	Callee string
	// Effect limits what the statement does until the next one begins.
	Effect weave.Effect
	// Ending is set if the process had been asked to exit by then, see harness.TracedHit.
	Ending bool
}

// Traces has the hits of a workload, one list for each run. After, if not nil, is the
// fault that happened in each run.
type Traces struct {
	Workload string
	Runs     [][]Hit
	After    *Fault
}

// Engine runs cases: a [runner.Runner].
type Engine interface {
	Run(context.Context, harness.Case) harness.Verdict
	Trace(context.Context, harness.Case) (harness.Trace, error)
}

// TraceError reports a workload or a case that is violated even without a fault. A
// sweep of it would prove nothing.
type TraceError struct {
	Workload string
	Verdict  harness.Verdict
}

func (e *TraceError) Error() string {
	return fmt.Sprintf("%s must hold without a fault before a sweep:\n%s", e.Workload, e.Verdict)
}

// CheckFaultless runs a workload without a fault and without a trace, and returns an
// error if it does not hold. This run checks more than a traced run, which omits the
// client's extra calls, because their hits would count.
func CheckFaultless(ctx context.Context, e Engine, containerd, name string) error {
	w, err := workloadNamed(name)
	if err != nil {
		return err
	}
	if err := ctx.Err(); err != nil { // the context ended while the run waited for its turn
		return err
	}
	c := harness.Case{Name: "plain-" + name, Containerd: containerd, Workload: w.Workload}
	v := e.Run(ctx, c)
	if ended := ctx.Err(); ended != nil {
		return ended
	}
	rerun := func() harness.Verdict { return e.Run(ctx, c) }
	if v, ok := orLostByChance(ctx, v, WithKnownFindingsOf(name), rerun); !ok {
		return &TraceError{name, v}
	}
	return ctx.Err()
}

// Trace runs a workload without a fault, and returns its hits.
func Trace(ctx context.Context, e Engine, o Options, name string) ([]Hit, error) {
	w, err := workloadNamed(name)
	if err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil { // the context ended while the run waited for its turn
		return nil, err
	}
	c := harness.Case{Name: "trace-" + name, Containerd: o.Containerd, Workload: w.Workload}
	t, err := e.Trace(ctx, c)
	if ended := ctx.Err(); ended != nil {
		return nil, ended // the run was interrupted, and has not failed
	}
	if err != nil {
		return nil, &TraceError{name, t.Verdict}
	}
	if o.AsItIs && t.Verdict.Outcome == harness.Violated {
		return Hits(t), nil
	}
	rerun := func() harness.Verdict {
		next, _ := e.Trace(ctx, c) // the verdict has the reason of a failure
		if next.Verdict.Outcome == harness.Held {
			t = next
		}
		return next.Verdict
	}
	if v, ok := orLostByChance(ctx, t.Verdict, WithKnownFindingsOf(name), rerun); !ok {
		return nil, &TraceError{name, v}
	}
	if ended := ctx.Err(); ended != nil {
		return nil, ended
	}
	return Hits(t), nil
}

// TraceAfter runs a case with one fault, and returns its hits and the index of the
// fault's hit. The list is nil if the fault does not fire.
func TraceAfter(ctx context.Context, e Engine, containerd string, s Spec) (all []Hit, at int, err error) {
	c, err := s.Case(containerd)
	if err != nil {
		return nil, 0, err
	}
	c.Workload.Settle = time.Second // a short wait: the sweep, and not this trace, reports leaks
	fault := s.Last()
	for range s.MaxRuns() {
		t, err := e.Trace(ctx, c)
		if ctx.Err() != nil {
			return nil, 0, context.Cause(ctx)
		}
		if t.Verdict.UnableHere() {
			return nil, 0, err
		}
		if err != nil || t.Verdict.Outcome == harness.Invalid {
			continue
		}
		all := Hits(t)
		at := slices.IndexFunc(all, func(p Hit) bool {
			return p.Point == fault.Point && p.Nth == fault.Nth && p.Takes(fault.Action)
		})
		if at >= 0 {
			return all, at, nil
		}
	}
	return nil, 0, nil
}

// Hits returns the hits of a trace at which a fault can happen.
func Hits(t harness.Trace) []Hit {
	var out []Hit
	for _, p := range t.Hits {
		add := func(m term.Moment, nth int) {
			if nth > 0 {
				out = append(out, Hit{Point: p.Point, Moment: m, Nth: nth, Path: p.Path, Step: p.Step,
					Callee: p.Callee, Ending: p.Ending})
			}
		}
		switch {
		case p.Point.Kind != failpoints.Stmt:
			add(AtMethod, p.Nth)
			continue
		case p.Call:
			add(term.AtCall, p.Nth)
		default:
			add(term.AtStatement, p.Nth)
		}
		add(term.AtCancel, p.NthCancel)
		add(term.AtDeadline, p.NthDeadline)
	}
	return out
}
