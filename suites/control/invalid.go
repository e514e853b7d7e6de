package control

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/shimquake/shimquake/failpoints"
	"github.com/shimquake/shimquake/failpoints/probe/term"
	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/harness/runner"
	"github.com/shimquake/shimquake/suites/spec"
)

var _ = Describe("a case that shows nothing", Label("control"), func() {
	invalid := func(ctx context.Context, c harness.Case, says ...string) {
		GinkgoHelper()
		v := sabotaged(ctx, c, nil)
		Expect(v.Outcome).To(Equal(harness.Invalid), "%v", v)
		for _, s := range says {
			Expect(v.ProblemsText()).To(ContainSubstring(s))
		}
	}
	It(
		"is invalid when its fault never fires, and names the points that were hit instead",
		spec.Quick,
		func(ctx context.Context) {
			invalid(ctx, harness.Case{Name: "control-unfired", Workload: exits(harness.TaskAPI), Plan: failpoints.Plan{
				failpoints.Error("rpc:shim:Task.Pause:entry", 1, "injected"),
			}}, "this fault did not fire: rpc:shim:Task.Pause:entry", "hit instead", "rpc:shim:Task.Shutdown x1")
		},
	)
	It("is invalid when one of its two faults fires", spec.Quick, func(ctx context.Context) {
		invalid(ctx, harness.Case{Name: "control-half-fired", Workload: exits(harness.TaskAPI), Plan: failpoints.Plan{
			failpoints.Once("rpc:shim:Task.Shutdown:entry", term.Lose), failpoints.Crash("rpc:shim:Task.Create:entry", 9),
		}}, "this fault did not fire: rpc:shim:Task.Create:entry")
	})
	It("is invalid when a misbehaviour of the fake shim does not happen", spec.Quick, func(ctx context.Context) {
		w := exits(harness.TaskAPI)
		w.Fakeshim = "sigterm=ignore" // the client sends no SIGTERM
		invalid(ctx, harness.Case{Name: "control-unmet", Workload: w}, "sigterm=ignore")
	})
	It("is invalid when the workload fails although no fault has happened", spec.Quick, func(ctx context.Context) {
		w := exits(harness.TaskAPI)
		w.CallTimeout, w.TimeLimit = 1, soon // no client is that quick
		invalid(ctx, harness.Case{Name: "control-broken", Workload: w}, "before any fault had happened")
	})
	It("is invalid when a control cannot be planted", spec.Quick, func(ctx context.Context) {
		v := sabotaged(
			ctx,
			harness.Case{Name: "control-unplanted"},
			func(context.Context, runner.Scene) error { return context.Canceled },
		)
		Expect(v.Outcome).To(Equal(harness.Invalid))
		Expect(v.ProblemsText()).To(ContainSubstring("sabotage"))
	})
})
