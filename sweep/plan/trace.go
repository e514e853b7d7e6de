package plan

import (
	"context"
	"fmt"

	"github.com/shimquake/shimquake/failpoints"
	"github.com/shimquake/shimquake/failpoints/probe/term"
	"github.com/shimquake/shimquake/harness"
)

// AtMethod is the moment at which all actions at a method of ttrpc are decided. At a
// statement there are several moments: see term.Moment.
const AtMethod term.Moment = "method"

// Pass is a moment at which something can be done.
type Pass struct {
	Point  failpoints.Point
	Moment term.Moment
	// Nth is which of the point's moments of that kind it is in the whole case, from 1.
	Nth int
	// Path is what was going on: create, start, exit, delete or load.
	Path string
	// Callee is the function that a call is of: what it can return is decided by that.
	Callee string
	// Ending is set where its process had been asked to exit, see harness.Pass.
	Ending bool
}

// Traces are what a workload was seen to pass, run after run.
type Traces struct {
	Workload string
	Runs     [][]Pass
}

// Engine runs cases: a [runner.Runner].
type Engine interface {
	Run(context.Context, harness.Case) harness.Verdict
	Trace(context.Context, harness.Case) (harness.Trace, error)
}

// TraceError is a workload, or a case, that does not hold without a fault: a sweep of it
// would show nothing.
type TraceError struct {
	Workload string
	Verdict  harness.Verdict
}

func (e *TraceError) Error() string {
	return fmt.Sprintf("%s must hold without a fault before anything is swept:\n%s", e.Workload, e.Verdict)
}

// Hold runs a workload without a fault, and expects that it holds. In a run that is
// traced less is asked of containerd, as all that it passes is counted.
func Hold(ctx context.Context, e Engine, containerd, name string) error {
	w, err := workloadNamed(name)
	if err != nil {
		return err
	}
	if err := ctx.Err(); err != nil { // of those that wait for their turn
		return err
	}
	c := harness.Case{Name: "plain-" + name, Containerd: containerd, Workload: w.Workload}
	v := e.Run(ctx, c)
	if ended := ctx.Err(); ended != nil {
		return ended
	}
	rerun := func() harness.Verdict { return e.Run(ctx, c) }
	if v, ok := orLostByChance(ctx, v, Like(name), rerun); !ok {
		return &TraceError{name, v}
	}
	return ctx.Err()
}

// Trace runs a workload without a fault, and returns what it passes.
func Trace(ctx context.Context, e Engine, o Options, name string) ([]Pass, error) {
	w, err := workloadNamed(name)
	if err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil { // of those that wait for their turn
		return nil, err
	}
	c := harness.Case{Name: "trace-" + name, Containerd: o.Containerd, Workload: w.Workload}
	t, err := e.Trace(ctx, c)
	if ended := ctx.Err(); ended != nil {
		return nil, ended // the workload was taken away, and has not failed
	}
	if err != nil {
		return nil, &TraceError{name, t.Verdict}
	}
	if o.AsItIs && t.Verdict.Outcome == harness.Violated {
		return Passes(t), nil
	}
	rerun := func() harness.Verdict {
		next, _ := e.Trace(ctx, c) // its verdict says why it failed
		if next.Verdict.Outcome == harness.Held {
			t = next
		}
		return next.Verdict
	}
	if v, ok := orLostByChance(ctx, t.Verdict, Like(name), rerun); !ok {
		return nil, &TraceError{name, v}
	}
	if ended := ctx.Err(); ended != nil {
		return nil, ended
	}
	return Passes(t), nil
}

// Passes are the moments of a trace at which something can be done.
func Passes(t harness.Trace) []Pass {
	var out []Pass
	for _, p := range t.Passes {
		add := func(m term.Moment, nth int) {
			if nth > 0 {
				out = append(out, Pass{Point: p.Point, Moment: m, Nth: nth, Path: p.Path, Callee: p.Callee, Ending: p.Ending})
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
