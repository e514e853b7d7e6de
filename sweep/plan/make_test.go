package plan

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"

	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/sweep/engine"
)

// tracer is a Runner that calls a function for each run.
type tracer func(context.Context) (harness.Trace, error)

func (f tracer) Trace(ctx context.Context, _ harness.Case) (harness.Trace, error) { return f(ctx) }

func (f tracer) Run(ctx context.Context, c harness.Case) harness.Verdict {
	t, _ := f(ctx) // a failed trace has no verdict
	return t.Verdict
}

// An interrupted trace is not a failure, and the traces that wait do not begin.
func TestAnInterruptedTraceIsNoTraceError(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	var begun atomic.Int32
	e := engine.New(tracer(func(context.Context) (harness.Trace, error) {
		begun.Add(1)
		cancel()
		return harness.Trace{}, errors.New("trace: the run was ended")
	}), 1)
	_, err := Make(ctx, e, Options{Workloads: WorkloadNames()[:2]})
	var failed *TraceError
	if !errors.Is(err, engine.ErrInterrupted) || errors.As(err, &failed) || begun.Load() != 1 {
		t.Errorf("%v, %d begun", err, begun.Load())
	}
}
