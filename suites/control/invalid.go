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
	broken, unmet := exits(harness.TaskAPI), exits(harness.TaskAPI)
	broken.CallTimeout, broken.TimeLimit = 1, soon // no client is that quick
	unmet.Fakeshim = "sigterm=ignore"              // the client sends no SIGTERM
	DescribeTable("is invalid when", func(ctx context.Context, c harness.Case, says ...string) {
		v := sabotaged(ctx, c, nil)
		Expect(v.Outcome).To(Equal(harness.Invalid), "%v", v)
		for _, s := range says {
			Expect(v.ProblemsText()).To(ContainSubstring(s))
		}
	},
		Entry("its fault never fires, and names the points that were hit instead", spec.Quick,
			harness.Case{Name: "control-unfired", Workload: exits(harness.TaskAPI), Plan: failpoints.Plan{
				failpoints.Error("rpc:shim:Task.Pause:entry", 1, "injected"),
			}}, "this fault did not fire: rpc:shim:Task.Pause:entry", "hit instead", "rpc:shim:Task.Shutdown x1"),
		Entry("one of its two faults fires", spec.Quick,
			harness.Case{Name: "control-half-fired", Workload: exits(harness.TaskAPI), Plan: failpoints.Plan{
				failpoints.Once("rpc:shim:Task.Shutdown:entry", term.Lose), failpoints.Crash("rpc:shim:Task.Create:entry", 9),
			}}, "this fault did not fire: rpc:shim:Task.Create:entry"),
		Entry("a misbehaviour of the fake shim does not happen", spec.Quick,
			harness.Case{Name: "control-unmet", Workload: unmet}, "sigterm=ignore"),
		Entry("the workload fails although no fault has happened", spec.Quick,
			harness.Case{Name: "control-broken", Workload: broken}, "before any fault had happened"),
	)
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
