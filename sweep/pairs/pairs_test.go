package pairs

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/shimquake/shimquake/failpoints"
	"github.com/shimquake/shimquake/failpoints/probe/term"
	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/must"
	"github.com/shimquake/shimquake/spelling"
	"github.com/shimquake/shimquake/sweep/engine"
	"github.com/shimquake/shimquake/sweep/plan"
)

// tracer is an engine that returns the given hits for a case without a fault, or for a
// case with one fault.
type tracer struct {
	passes map[string][]harness.TracedHit
}

func (*tracer) Run(context.Context, harness.Case) harness.Verdict {
	panic("planning runs no case")
}

func (e *tracer) Trace(_ context.Context, c harness.Case) (harness.Trace, error) {
	passes, ok := e.passes[c.Plan.String()]
	if !ok {
		return harness.Trace{Verdict: harness.Verdict{Outcome: harness.Invalid}}, errors.New("it did not fire")
	}
	return harness.Trace{Hits: passes, Verdict: harness.Verdict{Outcome: harness.Held}}, nil
}

// went returns the n-th hit of a point.
func went(point string, nth int, path string) harness.TracedHit {
	return harness.TracedHit{Point: failpoints.MustPoint(point), Nth: nth, Path: path}
}

const (
	forks   = "stmt:containerd:runtime.binary.Start:out-err-cmd.CombinedOutput"
	parses  = "stmt:containerd:runtime.binary.Start:parse"
	removes = "stmt:containerd:runtime.Bundle.Delete:remove"
	removed = "stmt:containerd:runtime.Bundle.Delete:removed"
	loads   = "stmt:containerd:runtime.loadShim:load"
	boot    = "stmt:containerd:runtime.init:boot"
	creates = "rpc:containerd:Task.Create:entry"
	serves  = "rpc:shim:Task.Create:entry"
	deletes = "rpc:shim:Task.Delete:entry"
	answers = "rpc:containerd:Task.Delete:exit"
)

func texts(all []plan.Spec) []string {
	out := make([]string, len(all))
	for i, s := range all {
		out[i] = s.String()
	}
	return out
}

func TestRecoveryCrashesEachPointOfARecovery(t *testing.T) {
	plain := []harness.TracedHit{
		went(boot, 1, "load"), went(forks, 1, "create"), went(parses, 1, "create"), went(removes, 1, "delete")}
	e := &tracer{passes: map[string][]harness.TracedHit{
		"":                 plain,
		forks + " 1*crash": append(plain[:2:2], went(boot, 2, "load"), went(loads, 1, "load"), went(removes, 1, "delete")),
		// The hits after this one also come after the first one, so this one adds no pair.
		parses + " 1*crash": append(plain[:3:3], went(boot, 2, "load"), went(loads, 1, "load")),
		// removes is not reached again: it is planned alone, if at all.
	}}
	got := must.Get((&pairing{ctx: t.Context(), engine: engine.New(e, 2)}).recovery())(t)
	want := []string{
		loads + " crash, load of task + " + forks + " crash, create",
		removes + " crash, delete of task + " + forks + " crash, create",
	}
	must.Equal(t, texts(got), want)
}

func TestShimPairsGoInEitherOrder(t *testing.T) {
	plain := []harness.TracedHit{went(creates, 1, "create"), went(serves, 1, "create"), went(deletes, 1, "delete")}
	e := &tracer{passes: map[string][]harness.TracedHit{
		"":                   plain,
		creates + " 1*crash": {plain[0], went(boot, 2, "load"), went(deletes, 1, "load")},
		serves + " 1*crash": {plain[0], plain[1],
			went(removes, 1, "create"), went(removed, 1, "create"), went(deletes, 1, "delete")},
	}}
	got := must.Get((&pairing{ctx: t.Context(), engine: engine.New(e, 2)}).shim())(t)
	want := []string{
		deletes + " crash, load of task + " + creates + " crash, create",
		removes + " crash, create of task + " + serves + " crash, create",
		removed + " crash, create of task + " + serves + " crash, create",
		deletes + " crash, delete of task", // without a trace of its own: the report must have it
	}
	must.Equal(t, texts(got), want)
}

func TestClientsPairs(t *testing.T) {
	held := "stmt:shim:runc-task.service.Delete:if-err-nil"
	e := &tracer{passes: map[string][]harness.TracedHit{"": {
		went(boot, 1, "load"), went(creates, 1, "create"), went(deletes, 1, "delete"), went(held, 1, "delete"),
		went(deletes, 2, "delete"), went(held, 2, "delete"), went(loads, 1, "delete"),
		went(answers, 1, "delete"), went(removes, 1, "delete")}}}
	w := &pairing{ctx: t.Context(), engine: engine.New(e, 2)}
	retry, err := w.retry()
	deleters, err2 := w.concurrentDeletes()
	must.Succeed(t, errors.Join(err, err2))
	var got []string
	for _, s := range append(retry, deleters...) {
		c := must.Get(s.Case(""))(t)
		got = append(got, fmt.Sprintf("%s of %s", c.Plan, s.Workload))
	}
	back := " 1*pause [cancel call, await call, release] of task"
	whileHeld := " 1*pause [cancel call, await call, sleep 100ms, release] of task"
	other := " 1*pause [await call, release] of deleters"
	want := []string{
		creates + back, creates + whileHeld, deletes + back, deletes + whileHeld, held + back,
		answers + back, answers + whileHeld,
		deletes + other, held + other, deletes + " 1*off->1*pause [await call, release] of deleters",
		loads + other, answers + other,
	}
	must.Equal(t, got, want)
}

func TestAPointIsPairedWithAFewFirstsOnly(t *testing.T) {
	pass := func(point string, nth int, path string) plan.Hit {
		return plan.Hit{Point: failpoints.MustPoint(point), Moment: term.AtStatement, Nth: nth, Path: path}
	}
	var all []after
	for i := range 5 {
		first := plan.Single(pass(forks, i+1, "create"), "crash", "task")
		second := pass(loads, 1+i%2, "load") // the first run has it after every other crash
		all = append(all, after{first, [][]plan.Hit{{pass(loads, 1, "load")}, {second}}})
	}
	got := pairUp(all, "crash", recovers, func(plan.Hit) int { return 2 })
	if len(got) != 2 || got[0].Faults[0] != all[0].first.Last() || got[1].Faults[0] != all[2].first.Last() {
		t.Errorf("%+v", got)
	}
}

func TestUnknownPairs(t *testing.T) {
	_, err := Make(t.Context(), engine.New(&tracer{}, 2), plan.Options{}, []string{"recover"})
	var u *spelling.UnknownError
	if !errors.As(err, &u) || u.Nearest != "recovery" {
		t.Errorf("%v", err)
	}
}
