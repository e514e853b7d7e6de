package client

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/harness/record"
	"github.com/shimquake/shimquake/oracle/callerr"
)

// lateTimer is a context whose deadline is over, but whose timer has not fired.
type lateTimer struct{ context.Context }

func (lateTimer) Deadline() (time.Time, bool) { return time.Now(), true }

// A call whose context has already ended is not made. Before, it was a call that failed
// before any fault.
func TestACallWithoutTimeIsNotMade(t *testing.T) {
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	for name, test := range map[string]struct {
		ctx  context.Context
		want error
	}{"some time": {t.Context(), nil}, "cancelled": {cancelled, context.Canceled},
		"a late timer": {lateTimer{t.Context()}, context.DeadlineExceeded}} {
		t.Run(name, func(t *testing.T) {
			var r record.Recorder
			s := NewSession(Params{Record: &r, Fired: func() bool { return false },
				Case: harness.Case{Workload: harness.Workload{}.WithDefaults()}})
			made := 0
			err := s.Call(test.ctx, "start", "c0", func(context.Context) error { made++; return test.want })
			h := r.History()
			if want := test.want == nil; made == 1 != want || len(h.Calls) == 1 != want || len(h.Notes) == 0 != want {
				t.Errorf("made %d times, %+v, %+v", made, h.Calls, h.Notes)
			}
			if call := new(callerr.Error); !errors.Is(err, test.want) || err != nil && !errors.As(err, &call) {
				t.Errorf("it returns %v", err)
			}
		})
	}
}
