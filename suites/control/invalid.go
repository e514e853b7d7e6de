package control

import (
	"context"
	"fmt"
	"runtime"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"golang.org/x/sync/errgroup"

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
			Expect(v.Why()).To(ContainSubstring(s))
		}
	}
	It(
		"is invalid when its fault never fires, and names the points that were hit instead",
		spec.Quick,
		func(ctx context.Context) {
			invalid(ctx, harness.Case{Name: "control-unfired", Workload: exits(harness.TaskAPI), Plan: failpoints.Plan{
				failpoints.Error("rpc:shim:Task.Pause:entry", 1, "injected"),
			}}, "this fault did not fire: rpc:shim:Task.Pause:entry", "hit instead", "rpc:shim:Task.Shutdown:entry x1")
		},
	)
	It("is invalid when one of its two faults fires", spec.Quick, func(ctx context.Context) {
		invalid(ctx, harness.Case{Name: "control-half-fired", Workload: exits(harness.TaskAPI), Plan: failpoints.Plan{
			failpoints.Once("rpc:shim:Task.Shutdown:entry", term.Lose), failpoints.Crash("rpc:shim:Task.Create:entry", 9),
		}}, "this fault did not fire: rpc:shim:Task.Create:entry")
	})
	It("is invalid when a misbehaviour of the fake shim is not met", spec.Quick, func(ctx context.Context) {
		w := exits(harness.TaskAPI)
		w.Fakeshim = "sigterm=ignore" // nobody sends one
		invalid(ctx, harness.Case{Name: "control-unmet", Workload: w}, "sigterm=ignore")
	})
	It("is invalid when the workload fails although no fault has happened", spec.Quick, func(ctx context.Context) {
		w := exits(harness.TaskAPI)
		w.CallTimeout, w.Deadline = 1, soon // nobody is that quick
		invalid(ctx, harness.Case{Name: "control-broken", Workload: w}, "before any fault had happened")
	})
	It("is invalid when a control cannot be planted", spec.Quick, func(ctx context.Context) {
		v := sabotaged(
			ctx,
			harness.Case{Name: "control-unplanted"},
			func(context.Context, runner.Scene) error { return context.Canceled },
		)
		Expect(v.Outcome).To(Equal(harness.Invalid))
		Expect(v.Why()).To(ContainSubstring("sabotage"))
	})
})

// plain are cases without faults, which must always hold: what they find is a leak of
// containerd's or an error of ours.
var plain = []harness.Case{
	{Name: "plain-exit", Workload: exits(harness.TaskAPI)},
	{
		Name:     "plain-group",
		Workload: harness.Workload{Grouped: true, Containers: []harness.Container{{Exit: 3}, {Signal: "SIGKILL"}}},
	},
	{
		Name:     "plain-pod",
		Workload: harness.Workload{API: harness.CRI, Containers: []harness.Container{{Exit: 7}, {Signal: "SIGTERM"}}},
	},
	{Name: "plain-fakeshim", Workload: harness.Workload{Fakeshim: "plain", Containers: []harness.Container{{Exit: 255}}}},
}

// allHold runs the plain cases in turn, a few worlds at a time, and asserts that every
// single one holds.
func allHold(ctx context.Context, runs int) {
	GinkgoHelper()
	verdicts := make([]harness.Verdict, runs)
	var g errgroup.Group
	g.SetLimit(runtime.NumCPU())
	for i := range runs {
		g.Go(func() error {
			defer GinkgoRecover()
			verdicts[i] = spec.Run1(ctx, plain[i%len(plain)])
			return nil
		})
	}
	Expect(g.Wait()).To(Succeed())
	for i, v := range verdicts {
		Expect(v.Outcome).To(Equal(harness.Held), "run %d: %v", i, v)
	}
	By(fmt.Sprintf("%d of %d held", runs, runs))
}

var _ = Describe("worlds without a fault", Label("control"), func() {
	It("hold", spec.Quick, func(ctx context.Context) { allHold(ctx, len(plain)) })
	It("hold 100 times in a row", Label("slow"), func(ctx context.Context) { allHold(ctx, 100) })
})
