package sweep

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/shimquake/shimquake/catalogue"
	"github.com/shimquake/shimquake/fixes"
	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/must"
	"github.com/shimquake/shimquake/oracle/fact"
	"github.com/shimquake/shimquake/sweep/engine"
	"github.com/shimquake/shimquake/sweep/journal"
	"github.com/shimquake/shimquake/sweep/triage"
)

// atOnce is a fake that runs several cases at once.
type atOnce func(context.Context, harness.Case) harness.Verdict

func (f atOnce) Run(ctx context.Context, c harness.Case) harness.Verdict { return f(ctx, c) }

func (f atOnce) Trace(ctx context.Context, c harness.Case) (harness.Trace, error) {
	return harness.Trace{Verdict: f(ctx, c)}, nil
}

// A new cluster is told, and its case is minimised, while another case still runs. The
// report at the end does not minimise it again.
func TestFindingsComeWhileCasesRun(t *testing.T) {
	_, j, h := begun(t, 20, whole)
	shown := make(chan struct{})
	e := engine.New(atOnce(func(_ context.Context, c harness.Case) harness.Verdict {
		switch p := c.Plan.String(); {
		case strings.Contains(p, strings.Repeat("x", 20)):
			select {
			case <-shown:
			case <-time.After(time.Minute): // no cluster was told: an error below
			}
		case strings.Contains(p, strings.Repeat("x", 7)):
		default:
			return harness.Verdict{Case: c, Outcome: harness.Violated, Findings: leakedShim()}
		}
		return harness.Verdict{Case: c, Outcome: harness.Held}
	}), 3)
	m := &Minimiser{Engine: e, Out: t.TempDir(), Replays: 5}
	var told []triage.Cluster
	last, ended := false, 0
	l := Live{
		Schedule: &Schedule{Engine: e, Head: h, Journal: j, OnResult: func(r journal.Result) { last = last || r.I == 19 }},
		Causes:   Causes, Minimiser: m,
		OnCluster: func(c triage.Cluster) {
			if told = append(told, c); c.Shown != nil && !last {
				close(shown)
			}
		},
		OnEnd: func() { ended++ },
	}
	results := must.Get(l.Run(t.Context()))(t)
	select {
	case <-shown:
	default:
		t.Error("no cluster was minimised while a case ran")
	}
	must.Equal(t, ended, 1)
	must.Len(t, results, 20)
	must.Len(t, told, 2, "when it was first seen, and when it was minimised")
	must.Equal(t, *told[1].Shown, triage.Shown{File: told[1].Shown.File, Replays: 5, Same: 5})
	if told[0].Shown != nil {
		t.Errorf("it was minimised before it was told: %+v", told[0].Shown)
	}
	rep := triage.NewReport(h, results, nil)
	must.Len(t, rep.New, 1)
	must.Succeed(t, m.ShowAll(t.Context(), h.Plan, &rep))
	must.Equal(t, rep.New[0].Shown, told[1].Shown, "the report has the case of the sweep")
	must.Equal(t, rep.New[0].Cases, 6)
}

// After a resume, a case that one fix does not close is not new before it has run with
// all fixes.
func TestAResumedSweepRunsAllFixesFirst(t *testing.T) {
	_, j, h := begun(t, 1, whole)
	h.Plan.Containerd = "v2.4.2"
	found := leakedShim() // the facts of shim-not-cleaned-at-load
	found[0].Facts = fact.Facts{fact.Task: fact.None, fact.Bundle: fact.Gone}
	violated := journal.Result{I: 0, Outcome: harness.Violated, Found: found}
	done := []journal.Result{violated}
	for _, fix := range fixes.List() {
		violated.On = "v2.4.2+" + fix.Name
		done = append(done, violated)
	}
	e := engine.New(atOnce(func(_ context.Context, c harness.Case) harness.Verdict {
		if strings.Contains(c.Containerd, fixes.All) {
			return harness.Verdict{Case: c, Outcome: harness.Held}
		}
		return harness.Verdict{Case: c, Outcome: harness.Violated, Findings: found}
	}), 1)
	l := Live{
		Schedule: &Schedule{Engine: e, Head: h, Journal: j, Done: done},
		Known:    catalogue.Excuses(), Causes: Causes, OnEnd: func() {},
		Prepare:   func(context.Context, string) error { return nil },
		OnCluster: func(c triage.Cluster) { t.Errorf("new so far: %s", c.Left) },
	}
	must.Get(l.Run(t.Context()))(t)
}
