package plan

import (
	"context"
	"errors"
	"sync"
	"testing"

	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/harness/plain"
	"github.com/shimquake/shimquake/must"
	"github.com/shimquake/shimquake/sweep/engine"
)

// verdicts is a Runner that returns the verdict of each case by its name, and held if it
// has none.
type verdicts struct {
	engine.Runner
	by   map[string]harness.Verdict
	mu   sync.Mutex
	apis map[harness.API]int // how many cases of each API were run
}

func (e *verdicts) Run(_ context.Context, c harness.Case) harness.Verdict {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.apis[c.Workload.WithDefaults().API]++
	v, told := e.by[c.Name]
	if v.Case = c; !told {
		v.Outcome = harness.Held
	}
	return v
}

func TestHoldPlain(t *testing.T) {
	lacking := harness.Verdict{Outcome: harness.Invalid, Problems: []harness.Problem{{Kind: harness.ByMachine}}}
	name := plain.Cases()[0].Name
	for label, tt := range map[string]struct {
		verdict          *harness.Verdict
		options          Options
		unable           int
		fails, task, cri bool
	}{
		"all hold":               {nil, Options{}, 0, false, true, true},
		"tasks alone":            {nil, Options{Workloads: []string{"restart"}}, 0, false, true, false},
		"pods alone":             {nil, Options{Workloads: []string{"cri"}}, 0, false, false, true},
		"one is violated":        {&harness.Verdict{Outcome: harness.Violated}, Options{}, 0, true, true, true},
		"one shows nothing":      {&harness.Verdict{Outcome: harness.Invalid}, Options{}, 0, true, true, true},
		"the machine lacks it":   {&lacking, Options{}, 1, false, true, true},
		"one that is not run":    {&lacking, Options{Workloads: []string{"cri"}}, 0, false, false, true},
		"a workload there isn't": {nil, Options{Workloads: []string{"crі"}}, 0, true, false, false},
	} {
		t.Run(label, func(t *testing.T) {
			e := &verdicts{by: map[string]harness.Verdict{}, apis: map[harness.API]int{}}
			if tt.verdict != nil {
				e.by[name] = *tt.verdict
			}
			unable, err := CheckPlain(t.Context(), engine.New(e, 1), tt.options, nil)
			must.Equal(t, err != nil, tt.fails, "that the machine cannot run")
			must.Len(t, unable, tt.unable, "that the machine cannot run")
			var trace *TraceError
			if tt.fails && tt.verdict != nil && (!errors.As(err, &trace) || trace.Workload != name) {
				t.Errorf("%v: no TraceError of %s", err, name)
			}
			must.Equal(t, e.apis[harness.TaskAPI] > 0, tt.task, "tasks were run", e.apis)
			if got := e.apis[harness.CRI] > 0; !tt.fails && got != tt.cri {
				t.Errorf("pods were run: %v", e.apis)
			}
		})
	}
}

// An interrupted run shows nothing, and is no error of a case.
func TestHoldPlainIsEnded(t *testing.T) {
	ctx, end := context.WithCancel(t.Context())
	end()
	_, err := CheckPlain(ctx, engine.New(&verdicts{apis: map[harness.API]int{}}, 2), Options{}, nil)
	var trace *TraceError
	if !errors.Is(err, engine.ErrInterrupted) || errors.As(err, &trace) {
		t.Error(err)
	}
}

// The cases that the caller adds must hold, too.
func TestHoldPlainRunsMore(t *testing.T) {
	for outcome, fails := range map[harness.Outcome]bool{harness.Held: false, harness.Violated: true} {
		e := &verdicts{by: map[string]harness.Verdict{"more": {Outcome: outcome}}, apis: map[harness.API]int{}}
		_, err := CheckPlain(t.Context(), engine.New(e, 1), Options{}, []harness.Case{{Name: "more"}})
		var trace *TraceError
		must.Equal(t, errors.As(err, &trace) && trace.Workload == "more", fails, outcome, err)
	}
}
