package others

import (
	"context"

	. "github.com/onsi/ginkgo/v2"

	"github.com/shimquake/shimquake/failpoints"
	"github.com/shimquake/shimquake/failpoints/probe/term"
	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/suites/spec"
)

// The shim's Start fails after Create has succeeded. The Delete with which containerd
// then rolls back fails, too.
var _ = Describe("a container whose start and rollback fail", Label("others", "cri"), func() {
	It("can be removed", spec.Quick, func(ctx context.Context) {
		spec.Holds(ctx, harness.Case{Name: "start-and-its-rollback-fail",
			Workload: harness.Workload{API: harness.CRI, Containers: []harness.Container{{Exit: 7}}},
			Plan: failpoints.Plan{
				{At: failpoints.MustPoint("rpc:shim:Task.Start:entry"), Do: term.Of( // the first is the sandbox's
					term.Clause{Count: 1, Action: term.Off}, term.Clause{Count: 1, Action: term.Error, Arg: "injected"})},
				failpoints.Error("rpc:shim:Task.Delete:entry", 1, "injected"),
			}})
	})
})
