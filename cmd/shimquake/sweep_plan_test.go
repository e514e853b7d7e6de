package main

import (
	"errors"
	"fmt"
	"testing"

	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/sweep/engine"
	"github.com/shimquake/shimquake/sweep/plan"
)

// A violation without a fault makes the exit status 1, like a violation with a fault.
func TestSweepErrorHasTheStatusOfTheVerdict(t *testing.T) {
	failed := func(o harness.Outcome) error {
		return fmt.Errorf("plan: %w", &plan.TraceError{Workload: "plain-exit", Verdict: harness.Verdict{Outcome: o}})
	}
	for name, tt := range map[string]struct {
		err  error
		want int
	}{
		"violated":    {failed(harness.Violated), statusViolated},
		"invalid":     {failed(harness.Invalid), statusInvalid},
		"no verdict":  {failed(""), statusInvalid},
		"interrupted": {engine.ErrInterrupted, statusInvalid},
	} {
		t.Run(name, func(t *testing.T) {
			var got statusError
			if !errors.As(sweepError(tt.err), &got) || got.status != tt.want {
				t.Errorf("%v, want status %d", sweepError(tt.err), tt.want)
			}
		})
	}
}
