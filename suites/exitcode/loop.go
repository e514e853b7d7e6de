package exitcode

import (
	"context"
	"fmt"
	"slices"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/shimquake/shimquake/failpoints"
	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/oracle/exit"
	"github.com/shimquake/shimquake/oracle/fact"
	"github.com/shimquake/shimquake/oracle/finding"
	"github.com/shimquake/shimquake/suites/spec"
)

var _ = Describe("a pod that lives on", Label("exit-code", "cri"), func() {
	It("keeps nothing of containers that crash and are made again, and tells how each ended", spec.Quick,
		func(ctx context.Context) {
			v := spec.Holds(ctx, harness.Case{Name: "exit-crash-loop", Workload: harness.Workload{
				API: harness.CRI, Loops: 3, Containers: []harness.Container{{Exit: 7}, {Signal: "SIGKILL"}},
			}})
			expectRounds(v, 3)
			Expect(v.Truths).To(HaveEach(HaveField("Status", BeElementOf(uint32(7), uint32(137)))))
		})

	It("has one that stays run on while another is removed and made again", spec.Quick, func(ctx context.Context) {
		v := spec.Holds(ctx, harness.Case{Name: "exit-crash-loop-beside-one-that-stays", Workload: harness.Workload{
			API: harness.CRI, Loops: 2, Containers: []harness.Container{{Exit: 7}, {Exit: 5, Stays: true}},
		}})
		Expect(v.History.CRI.Rounds).To(HaveLen(2))
		Expect(v.Truths).To(HaveLen(3))
		stays := v.History.Instances[1]
		for _, r := range v.History.CRI.Rounds {
			Expect(r.Listed.Containers).To(ContainElement(stays.ID))
		}
		Expect(stays.Payload.ExitedAt).To(BeTemporally(">", v.History.CRI.Rounds[1].Listed.At))
	})

	// The pod is there for long enough that its shim can tell of it after that: it tries 1,
	// 3, 6, 10 and 15 s after the first time (publisher.go), and then gives up. Of each it
	// logs that it failed, and its log has no reader meanwhile.
	DescribeTable("is told of a container that ends while containerd is down for seconds:",
		func(ctx context.Context, seconds int) {
			v := spec.Holds(ctx, harness.Case{Name: fmt.Sprintf("exit-while-down-for-%d", seconds),
				Workload: harness.Workload{API: harness.CRI, Loops: 4, Debug: true,
					Containers: []harness.Container{{Signal: "SIGKILL"}}},
				Plan: plan(failpoints.PauseAt("rpc:containerd:Task.Kill:entry", failpoints.Steps(
					"kill containerd", "kill task", fmt.Sprintf("wait %ds", seconds), "start containerd")...)),
				Bad: []harness.Bad{{Releases: ">= 1.7.0", Issue: "cri-forgets-an-exit", By: spec.CRISaysUnknown,
					May: finding.MustMatches("event event=late topic=/tasks/exit after=/tasks/delete")}}})
			Expect(v.Reported).To(ContainElement(And(
				HaveField("Observer", exit.ByTaskExit), HaveField("Status", uint32(137)))))
		},
		Entry("4", spec.Quick, 4),
		Entry("8", spec.Slow, 8),
	)

	It("keeps nothing of them either where the shim refuses the first Delete", func(ctx context.Context) {
		expectRounds(spec.Holds(ctx, harness.Case{Name: "exit-crash-loop-delete-refused", Workload: harness.Workload{
			API: harness.CRI, Loops: 3, Containers: []harness.Container{{Exit: 7}, {Signal: "SIGKILL"}},
		}, Plan: plan(failpoints.Error("rpc:shim:Task.Delete:entry", 1, "injected"))}), 3)
	})
})

// expectRounds expects that each round was looked at: a crash loop that ends early would
// show nothing. What is listed besides the pod is the bystander's.
func expectRounds(v harness.Verdict, n int) {
	GinkgoHelper()
	Expect(v.History.CRI.Rounds).To(HaveLen(n))
	Expect(v.History.CRI.Rounds).To(HaveEach(And(
		HaveField("Look.Inventory", Not(BeNil())), HaveField("Listed.Sandboxes", HaveLen(2)),
		HaveField("Listed.Containers", HaveLen(1)),
	)))
	Expect(v.Truths).To(HaveLen(2 * n))
	if slices.ContainsFunc(v.History.Hits, func(h failpoints.Hit) bool { return h.Who == "shim" }) { // it has probes
		asked := HaveField("Look.Inventory.Handles", ContainElement(And(
			HaveField("Shim", Not(BeNil())), HaveField("Collected", true), HaveField("Held",
				ContainElement(HaveField("Kind", fact.AGoroutine))))))
		Expect(v.History.CRI.Rounds).To(ContainElement(asked), "no shim was asked for its goroutines")
	}
}
