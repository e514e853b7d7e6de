package plan

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/shimquake/shimquake/harness"
)

// tracer is an engine that counts its concurrent runs.
type tracer struct {
	Engine
	running, most atomic.Int32
	trace         func(context.Context) (harness.Trace, error)
}

func (e *tracer) Trace(ctx context.Context, _ harness.Case) (harness.Trace, error) {
	now := e.running.Add(1)
	defer e.running.Add(-1)
	for most := e.most.Load(); now > most && !e.most.CompareAndSwap(most, now); most = e.most.Load() {
	}
	return e.trace(ctx)
}

func (e *tracer) Run(ctx context.Context, c harness.Case) harness.Verdict {
	t, _ := e.Trace(ctx, c) // a failed trace has no verdict
	return t.Verdict
}

// Make runs at most as many worlds as the caller allows. The first trace fails, so that
// nothing is planned.
func TestMakeTracesNoMoreAtOnceThanAskedFor(t *testing.T) {
	for _, parallel := range []int{0, 1, 3} {
		synctest.Test(t, func(t *testing.T) {
			e := &tracer{trace: func(context.Context) (harness.Trace, error) {
				<-time.After(time.Second) // synctest advances the clock when all runs have begun
				return harness.Trace{}, errors.New("no world")
			}}
			_, err := Make(t.Context(), e, Options{Workloads: WorkloadNames()[:2]}, parallel)
			var failed *TraceError
			if !errors.As(err, &failed) {
				t.Fatal(err)
			}
			if most := int(e.most.Load()); most != max(parallel, 1) {
				t.Errorf("--parallel %d: %d traces at once", parallel, most)
			}
		})
	}
}

// An interrupted trace is not a failure, and the traces that wait do not begin.
func TestAnInterruptedTraceIsNoTraceError(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	var begun atomic.Int32
	e := &tracer{trace: func(context.Context) (harness.Trace, error) {
		begun.Add(1)
		cancel()
		return harness.Trace{}, errors.New("trace: the run was ended")
	}}
	_, err := Make(ctx, e, Options{Workloads: WorkloadNames()[:2]}, 1)
	var failed *TraceError
	if !errors.Is(err, context.Canceled) || errors.As(err, &failed) || begun.Load() != 1 {
		t.Errorf("%v, %d begun", err, begun.Load())
	}
}
