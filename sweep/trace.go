package sweep

import (
	"context"
	"fmt"

	"github.com/shimquake/shimquake/failpoints"
	"github.com/shimquake/shimquake/harness"
)

// moment is when an action is decided: hits of a point are counted by it. At a statement there are several, see harness.Pass.
type moment string

const (
	atMethod    moment = "method"    // of ttrpc: all actions
	atStatement moment = "statement" // before it
	atCall      moment = "call"      // of the statement
	atCancel    moment = "cancel"    // where a client can end its request
	atDeadline  moment = "deadline"  // where a request's time can be up
)

// Pass is a moment at which something can be done.
type Pass struct {
	Point  failpoints.Point
	Moment moment
	Nth    int    // which of the point's moments of that kind in the whole case, from 1
	Path   string // what was going on: create, start, exit, delete, load
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

// TraceError is a workload that does not hold without a fault: a sweep of it would show nothing.
type TraceError struct {
	Workload string
	Verdict  harness.Verdict
}

func (e *TraceError) Error() string {
	return fmt.Sprintf("the workload %s must hold without a fault before it can be swept:\n%s", e.Workload, e.Verdict)
}

// trace runs a workload without a fault, and says what it passes.
func trace(ctx context.Context, e Engine, containerd, name string) ([]Pass, error) {
	w, err := workloadNamed(name)
	if err != nil {
		return nil, err
	}
	t, err := e.Trace(ctx, harness.Case{Name: "trace-" + name, Containerd: containerd, Workload: w.Workload})
	if err != nil || t.Verdict.Outcome != harness.Held {
		return nil, &TraceError{name, t.Verdict}
	}
	return moments(t.Passes), nil
}

// moments are what can be done at passes.
func moments(all []harness.Pass) []Pass {
	var out []Pass
	for _, p := range all {
		add := func(m moment, nth int) {
			if nth > 0 {
				out = append(out, Pass{Point: p.Point, Moment: m, Nth: nth, Path: p.Path})
			}
		}
		switch {
		case p.Point.Kind != failpoints.Stmt:
			add(atMethod, p.Nth)
			continue
		case p.Call:
			add(atCall, p.Nth)
		default:
			add(atStatement, p.Nth)
		}
		add(atCancel, p.NthCancel)
		add(atDeadline, p.NthDeadline)
	}
	return out
}
