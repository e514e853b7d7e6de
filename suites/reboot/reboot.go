// Package reboot has the specs about a node that reboots in each state of a task or a
// pod. A reboot empties /run, so containerd only has its root directory. It must be
// able to remove the old objects, and to use their ids again.
package reboot

import (
	"context"

	. "github.com/onsi/ginkgo/v2"

	"github.com/shimquake/shimquake/failpoints"
	"github.com/shimquake/shimquake/failpoints/probe/term"
	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/suites/spec"
)

func tasks() harness.Workload {
	return harness.Workload{Containers: []harness.Container{{Exit: 7}, {Signal: "SIGKILL"}}}
}

func pod(of harness.Network) harness.Workload {
	w := tasks()
	w.API, w.Network = harness.CRI, of
	return w
}

var _ = Describe("a restarted node", Label("crash"), func() {
	DescribeTable("keeps only old work directories",
		func(ctx context.Context, name, state string, w harness.Workload) {
			spec.Holds(ctx, harness.Case{Name: "reboot-" + name + "-" + state, Workload: w,
				Bugs: []string{"work-dir-after-a-reboot"},
				Plan: failpoints.Plan{failpoints.Once("proc:node:"+state, term.Reboot)}})
		},
		Entry("when tasks are created", "task", "created", tasks()),
		Entry("when tasks run", spec.Quick, "task", "running", tasks()),
		Entry("when tasks have exited", "task", "exited", tasks()),
		Entry("when a pod's containers are created", Label("cri"), "pod", "created", pod("")),
		Entry("when a pod with a network of its own runs", spec.Quick, Label("cri", "network"), "pod-network", "running",
			pod(harness.PodNetwork)),
		Entry("when a pod's containers have exited", Label("cri"), "pod", "exited", pod("")),
	)
})
