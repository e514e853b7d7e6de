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
	"github.com/shimquake/shimquake/suites/spec"
)

var _ = Describe("a pod that keeps running", Label("exit-code", "cri"), func() {
	It("keeps nothing of containers that crash and restart, and keeps another one running", spec.Quick,
		func(ctx context.Context) {
			v := spec.Holds(ctx, harness.Case{Name: "exit-crash-loop", Workload: harness.Workload{
				API: harness.CRI, Containers: []harness.Container{{Exit: 7}, {Signal: "SIGKILL"}, {Exit: 5}},
				Script: []string{"run pod", "create c2", "start c2", "inventory",
					"repeat 3 create c0 c1; mark created; start c0 c1; mark running; end c1; wait c0 c1; mark exited; " +
						"remove c0 c1; inventory", "end c2", "wait c2"},
			}})
			expectRounds(v, 3, 1)
			Expect(v.Truths).To(HaveEach(HaveField("Status", BeElementOf(uint32(7), uint32(137), uint32(5)))))
			stays := v.History.Instances[slices.IndexFunc(v.History.Instances,
				func(i harness.Instance) bool { return i.Name == "c2" })]
			for _, r := range v.History.CRI.Rounds {
				Expect(r.Listed.Containers).To(ContainElement(stays.ID))
			}
			Expect(stays.Payload.ExitedAt).To(BeTemporally(">", v.History.CRI.Rounds[2].Listed.At))
		})

	// The pod keeps running, so its shim can still report the exit. The shim retries 1, 3,
	// 6, 10 and 15 s after the first attempt (publisher.go), and then gives up. It must
	// also not block on its log, which has no reader while containerd is down.
	// suites/others has an exec that exits while containerd is down for 8 s.
	It("gets the exit of a container that ends while containerd is down for 4 s", spec.Slow, spec.Quick,
		func(ctx context.Context) {
			v := spec.Holds(ctx, harness.Case{Name: "exit-while-down-for-4",
				Workload: harness.Workload{API: harness.CRI, Debug: true,
					Containers: []harness.Container{{Signal: "SIGKILL"}}, Script: crashLoop(4)},
				Plan: plan(failpoints.PauseAt("rpc:containerd:Task.Kill:entry", failpoints.Steps(
					"kill containerd", "kill task", "sleep 4s", "start containerd")...)),
				Bugs: []string{"cri-forgets-an-exit", "exit-after-delete"}})
			Expect(v.Reported).To(ContainElement(And(
				HaveField("Observer", exit.ByTaskExit), HaveField("Status", uint32(137)))))
		})

	It("keeps nothing of them if the shim refuses the first Delete", func(ctx context.Context) {
		expectRounds(spec.Holds(ctx, harness.Case{Name: "exit-crash-loop-delete-refused", Workload: harness.Workload{
			API: harness.CRI, Containers: []harness.Container{{Exit: 7}, {Signal: "SIGKILL"}}, Script: crashLoop(3),
		}, Plan: plan(failpoints.Error("rpc:shim:Task.Delete:entry", 1, "injected"))}), 3, 0)
	})
})

// crashLoop returns the steps of a crash loop with this number of rounds.
func crashLoop(rounds int) []string {
	return []string{"run pod", "inventory", fmt.Sprintf(
		"repeat %d create all; mark created; start all; mark running; end all; wait all; mark exited; "+
			"remove all; inventory", rounds)}
}

// expectRounds expects an inventory of each round, because a crash loop that ends early
// would show nothing. CRI's list must have the pod, the containers that keep running,
// and the bystander's pod with its container.
func expectRounds(v harness.Verdict, n, stay int) {
	GinkgoHelper()
	Expect(v.History.CRI.Rounds).To(HaveLen(n))
	Expect(v.History.CRI.Rounds).To(HaveEach(And(
		HaveField("Inspection.Inventory", Not(BeNil())), HaveField("Listed.Sandboxes", HaveLen(2)),
		HaveField("Listed.Containers", HaveLen(1+stay)),
	)))
	Expect(v.Truths).To(HaveLen(2*n + stay))
	if slices.ContainsFunc(v.History.Hits, func(h failpoints.Hit) bool { return h.Who == "shim" }) { // it has probes
		asked := HaveField("Inspection.Inventory.Handles", ContainElement(And(
			HaveField("Shim", Not(BeNil())), HaveField("Collected", true), HaveField("Held",
				ContainElement(HaveField("Kind", fact.AGoroutine))))))
		Expect(v.History.CRI.Rounds).To(ContainElement(asked), "no shim was asked for its goroutines")
	}
}
