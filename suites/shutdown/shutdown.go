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

func exits(code int) harness.Workload {
	return harness.Workload{Containers: []harness.Container{{Exit: code}}}
}

var _ = Describe("a shim whose Shutdown failed", Label("shim", "issue:8981"), func() {
	It("is gone after the client's second Delete, and the exit code is still 7", spec.Quick, func(ctx context.Context) {
		spec.Holds(ctx, spec.Named("shutdown-error-once"))
	})
	It(
		"is gone after the client's second Delete when the client had cancelled the first",
		spec.Quick,
		func(ctx context.Context) {
			spec.Holds(ctx, spec.Named("shutdown-cancelled"))
		},
	)
	It("is gone when the deadline of the client's first Delete has passed", func(ctx context.Context) {
		w := exits(7)
		w.CallTimeout = 2 * time.Second
		spec.Holds(ctx, harness.Case{Name: "shutdown-deadline", Workload: w, Bugs: []string{"containerd-8981"},
			Plan: failpoints.Plan{failpoints.PauseAt(entry, failpoints.Steps("await removal", "release")...)}})
	})
	DescribeTable(
		"is gone when the one Shutdown",
		func(ctx context.Context, name string, plan failpoints.Fault, bugs ...string) {
			spec.Holds(ctx, harness.Case{Name: name, Workload: exits(7), Bugs: bugs, Plan: failpoints.Plan{plan}})
		},
		Entry(
			"ran and its reply was lost",
			spec.Quick,
			"shutdown-reply-lost",
			failpoints.Once("rpc:shim:Task.Shutdown:entry", term.Lose),
		),
		Entry("met a closed connection", "shutdown-connection-closed", failpoints.Once(entry, term.Close)),
		Entry("never answered", "shutdown-hangs", failpoints.Once(entry, term.Hang), "containerd-8981"),
	)
})

var _ = Describe("containerd that is SIGKILLed while the shim holds Shutdown", Label("crash"), func() {
	It("leaves no shim after its restart", spec.Quick, func(ctx context.Context) {
		spec.Holds(
			ctx,
			harness.Case{Name: "shutdown-containerd-killed", Workload: exits(7), Plan: failpoints.Plan{
				failpoints.PauseAt(entry, failpoints.Steps("kill containerd", "start containerd", "release")...),
			}, Bugs: []string{"containerd-6860"}},
		)
	})
})
