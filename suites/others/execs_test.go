package others

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/shimquake/shimquake/failpoints"
	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/oracle"
	"github.com/shimquake/shimquake/suites/spec"
)

// with is a container with an exec that comes and goes, and one that its end kills.
func with(k harness.Container) harness.Workload {
	k.Exec, k.HeldExec = 3, true
	return one(harness.TaskAPI, k)
}

var _ = Describe("an exec", Label("others", "exec"), func() {
	for _, end := range []harness.Container{{Exit: 7}, {Signal: "SIGKILL"}} {
		name := map[string]string{"": "exits", "SIGKILL": "killed"}[end.Signal]
		It("is reported as itself, and its container as itself, which "+name, spec.Quick, func(ctx context.Context) {
			v := spec.Holds(ctx, harness.Case{Name: "others-exec-" + name, Workload: with(end)})
			Expect(v.Truths).To(ConsistOf(
				And(HaveField("Exec", ""), HaveField("Status", end.Want())),
				And(HaveField("Exec", "e0"), HaveField("Status", uint32(3))),
				And(HaveField("Exec", "e1"), HaveField("Status", uint32(137))),
			))
			for _, exec := range []string{"e0", "e1"} {
				for _, by := range []oracle.Observer{
					oracle.ByWait, oracle.ByDelete, oracle.ByTaskStatus, oracle.ByTaskExit, oracle.ByShimDelete,
				} {
					Expect(v.Reported).To(ContainElement(And(HaveField("Exec", exec), HaveField("Observer", by))))
				}
			}
		})
	}
	DescribeTable("is reported as itself after", func(ctx context.Context, name string, f failpoints.Fault) {
		spec.Holds(ctx, harness.Case{
			Name: "others-exec-" + name, Workload: with(harness.Container{Exit: 7}), Plan: failpoints.Plan{f},
		})
	},
		Entry("containerd was SIGKILLed while it ran", spec.Quick, "containerd-killed",
			failpoints.Kill("proc:containerd:running")),
		Entry("its Delete has failed", "delete-fails", failpoints.Error("rpc:shim:Task.Delete:entry", 1, "injected")),
		Entry("it could not be added", "add-fails", failpoints.Error("rpc:shim:Task.Exec:entry", 1, "injected")),
	)
})

var _ = Describe("a container that is paused", Label("others", "pause"), func() {
	It("stands still, and goes on when it is resumed", spec.Quick, func(ctx context.Context) {
		v := spec.Holds(ctx, harness.Case{
			Name: "others-pause", Workload: one(harness.TaskAPI, harness.Container{Exit: 7, Pause: true}),
		})
		p := v.History.Instances[0].Pause
		Expect(p.PausedAs).To(Equal("PAUSED"))
		Expect(p.ResumedAs).To(Equal("RUNNING"))
		Expect(p.Beat).NotTo(BeZero())
	})
	It("goes on when it is resumed after a resume that has failed", func(ctx context.Context) {
		v := spec.Holds(ctx, harness.Case{
			Name: "others-pause-resume-fails", Workload: one(harness.TaskAPI, harness.Container{Exit: 7, Pause: true}),
			Plan: failpoints.Plan{failpoints.Error("rpc:shim:Task.Resume:entry", 1, "injected")},
		})
		Expect(v.History.Instances[0].Pause.Beat).NotTo(BeZero())
	})
})
