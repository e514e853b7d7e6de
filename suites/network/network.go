// Package network has the specs about pods with their own network namespace. CNI must
// delete everything that it has added, and no namespace may stay mounted. In these
// specs containerd is killed, or a request is cancelled, while a network is set up or
// torn down.
package network

import (
	"context"

	. "github.com/onsi/ginkgo/v2"

	"github.com/shimquake/shimquake/failpoints"
	"github.com/shimquake/shimquake/failpoints/probe/term"
	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/suites/spec"
)

// CRI's statements around its calls of CNI. They are the same from v1.6 to v2.4.
const (
	setUp    = "stmt:containerd:cri.criService.setupPodNetwork:result-err-netPlugin.Setup-ctx-id-path-o"
	isSetUp  = "stmt:containerd:cri.criService.setupPodNetwork:sandbox.CNIResult-result"
	tearDown = "stmt:containerd:cri.criService.teardownPodNetwork:err-netPlugin.Remove-ctx-id-path-opts..."
	unmount  = "stmt:containerd:cri.criService.stopPodSandbox:if-err-sandbox.NetNS.Remove-err-nil"
)

func pod() harness.Workload {
	return harness.Workload{API: harness.CRI, Network: harness.PodNetwork, Containers: []harness.Container{{Exit: 7}}}
}

var _ = Describe("a pod with a network of its own", Label("cri", "network"), func() {
	DescribeTable("leaves no network when",
		func(ctx context.Context, name string, fault failpoints.Fault) {
			spec.Holds(ctx, harness.Case{Name: "network-" + name, Workload: pod(), Plan: failpoints.Plan{fault}})
		},
		Entry("the request is cancelled as it is set up", spec.Quick, "cancelled",
			failpoints.Once(setUp, term.Cancel)),
		Entry("containerd dies when it is set up", spec.Quick, Label("crash"), "crash-set-up",
			failpoints.Once(isSetUp, term.Crash)),
		Entry("containerd dies before it is torn down", spec.Quick, Label("crash"), "crash-tear-down",
			failpoints.Once(tearDown, term.Crash)),
		// The second time, the pod is already stopped.
		Entry("its removal fails twice", spec.Quick, "tear-down-fails-twice",
			failpoints.Error(tearDown, 2, "injected")),
		Entry("containerd dies before its namespace is unmounted", Label("crash"), "crash-unmount",
			failpoints.Once(unmount, term.Crash)),
	)

	restarting := pod()
	restarting.Script = []string{"run pod", "create all", "mark created", "start all", "mark running",
		"restart containerd", "end all", "wait all", "mark exited"}
	spec.It("leaves none when its removal fails once, after a restart of containerd", harness.Case{
		Name: "network-tear-down-fails", Workload: restarting,
		Plan: failpoints.Plan{failpoints.Error(tearDown, 1, "injected")},
	}, spec.Quick)
})
