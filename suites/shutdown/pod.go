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

// pod returns a pod of one container. Its client's calls have this timeout; 0 means
// kubelet's timeout.
func pod(timeout time.Duration) harness.Workload {
	return harness.Workload{API: harness.CRI, CallTimeout: timeout, Containers: []harness.Container{{Exit: 7}}}
}

// last returns the number of the sandbox's Shutdown. In a pod with one container, this is
// the second one, unless containerd sends only that.
func last() int {
	if spec.OneShutdown() {
		return 1
	}
	return 2
}

// held pauses the shim at the sandbox's Shutdown while these steps run.
func held(steps ...string) failpoints.Fault {
	return failpoints.PauseNth(entry, last(), failpoints.Steps(steps...)...)
}

var _ = Describe("a pod whose shim's first Shutdown, of its container", Label("cri", "shim", "issue:8981"), func() {
	BeforeEach(func() {
		if spec.OneShutdown() {
			Skip("releases from 2.0 to 2.3 send a pod's shim one Shutdown, which is the sandbox's")
		}
	})
	DescribeTable("leaves no shim when it",
		func(ctx context.Context, name string, fault failpoints.Fault, bugs ...string) {
			spec.Holds(ctx, harness.Case{Name: "shutdown-container-" + name, Workload: pod(0), Bugs: bugs,
				Plan: failpoints.Plan{fault}})
		},
		Entry("failed", "fails", failpoints.Error(entry, 1, "injected")),
		Entry("ran and its reply was lost", spec.Quick, "reply-lost", failpoints.Once(entry, term.Lose)),
		Entry("met a closed connection", "connection-closed", failpoints.Once(entry, term.Close), "shim-connection-broken"),
		Entry("never answered", spec.Slow, "hangs", failpoints.Once(entry, term.Hang)),
		Entry("was held while containerd was SIGKILLed", Label("crash"), "containerd-killed",
			failpoints.PauseAt(entry, failpoints.Steps("kill containerd", "start containerd", "release")...),
			"containerd-6860", "cri-exit-not-written-down"),
	)
})

var _ = Describe("a pod whose shim's last Shutdown, of its sandbox", Label("cri", "shim", "issue:8981"), func() {
	DescribeTable(
		"leaves no shim when it",
		func(ctx context.Context, name string, w harness.Workload, fault failpoints.Fault, bugs ...string) {
			spec.Holds(ctx, harness.Case{Name: "shutdown-sandbox-" + name, Workload: w, Bugs: bugs,
				Plan: failpoints.Plan{fault}})
		},
		Entry("failed", spec.Quick, "fails", pod(0), failpoints.Nth(entry, last(), term.Error, "injected"),
			"containerd-8981"),
		Entry("ran and its reply was lost", spec.Quick, "reply-lost", pod(0), failpoints.Nth(entry, last(), term.Lose, "")),
		Entry("met a closed connection", "connection-closed", pod(0), failpoints.Nth(entry, last(), term.Close, "")),
		Entry("never answered", spec.Slow, "hangs", pod(0), failpoints.Nth(entry, last(), term.Hang, ""), "containerd-8981"),
		Entry(
			"was held until the client was done",
			spec.Slow,
			"held",
			pod(0),
			held("await removal", "release"),
			"containerd-8981",
		),
		Entry(
			"was held past the deadline of the client's call",
			spec.Slow,
			"deadline",
			pod(5*time.Second),
			held("await call", "await removal", "release"),
			"containerd-8981",
		),
		Entry("was held while containerd was SIGKILLed", spec.Quick, Label("crash"), "containerd-killed", pod(0),
			held("kill containerd", "start containerd", "release"), "containerd-6860"),
	)
})
