package others

import (
	. "github.com/onsi/ginkgo/v2"

	"github.com/shimquake/shimquake/failpoints"
	"github.com/shimquake/shimquake/failpoints/probe/term"
	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/suites/spec"
)

// The shim's Start fails after Create has succeeded. The Delete with which containerd
// then rolls back fails, too.
var _ = Describe("a container whose start and rollback fail", Label("others", "cri"), func() {
	spec.It("can be removed", harness.Case{
		Name: "start-and-its-rollback-fail", Workload: one(harness.CRI, harness.Container{Exit: 7}),
		Plan: failpoints.Plan{
			failpoints.Nth("rpc:shim:Task.Start:entry", 2, term.Error, "injected"), // the first is the sandbox's
			failpoints.Error("rpc:shim:Task.Delete:entry", 1, "injected"),
		},
	}, spec.Quick)
})
