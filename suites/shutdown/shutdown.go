// Package shutdown has the specs about Shutdown, the last call to a shim. In them the
// call fails, is cancelled or loses its response, or containerd is killed during the
// call.
package shutdown

import (
	"context"
	"time"

	. "github.com/onsi/ginkgo/v2"

	"github.com/shimquake/shimquake/failpoints"
	"github.com/shimquake/shimquake/failpoints/probe/term"
	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/suites/spec"
)

const entry = "rpc:shim:Task.Shutdown:entry"

// exits7 is a container that exits with 7.
var exits7 = harness.Workload{Containers: []harness.Container{{Exit: 7}}}

var _ = Describe("a shim whose Shutdown failed", Label("shim", "issue:8981"), func() {
	spec.It("is gone after the client's second Delete, and the exit code is still 7",
		spec.Named("shutdown-error-once"), spec.Quick)
	spec.It("is gone after the client's second Delete when the client had cancelled the first",
		spec.Named("shutdown-cancelled"), spec.Quick)
	deadline := exits7
	deadline.CallTimeout = 2 * time.Second
	spec.It("is gone when the deadline of the client's first Delete has passed", harness.Case{
		Name: "shutdown-deadline", Workload: deadline, Bugs: []string{"containerd-8981"},
		Plan: failpoints.Plan{failpoints.PauseAt(entry, failpoints.Steps("await removal", "release")...)},
	})
	DescribeTable(
		"is gone when the one Shutdown",
		func(ctx context.Context, name string, plan failpoints.Fault, bugs ...string) {
			spec.Holds(ctx, harness.Case{Name: name, Workload: exits7, Bugs: bugs, Plan: failpoints.Plan{plan}})
		},
		Entry("ran and its reply was lost", spec.Quick, "shutdown-reply-lost", failpoints.Once(entry, term.Lose)),
		Entry("met a closed connection", "shutdown-connection-closed", failpoints.Once(entry, term.Close)),
		Entry("never answered", "shutdown-hangs", failpoints.Once(entry, term.Hang), "containerd-8981"),
	)
})

var _ = Describe("containerd that is SIGKILLed while the shim holds Shutdown", Label("crash"), func() {
	spec.It("leaves no shim after its restart", harness.Case{
		Name: "shutdown-containerd-killed", Workload: exits7, Bugs: []string{"containerd-6860"},
		Plan: failpoints.Plan{
			failpoints.PauseAt(entry, failpoints.Steps("kill containerd", "start containerd", "release")...),
		},
	}, spec.Quick)
})
