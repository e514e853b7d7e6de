package shutdown

import (
	"context"
	"os"
	"slices"
	"time"

	. "github.com/onsi/ginkgo/v2"

	"github.com/shimquake/shimquake/failpoints"
	"github.com/shimquake/shimquake/failpoints/probe/term"
	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/suites/spec"
)

// A pod's shim serves the sandbox and its containers. Up to 1.7 and since 2.4,
// containerd sends Shutdown after the Delete of each of them, and the shim exits at the
// last one. From 2.0 to 2.3 only the sandbox's own Delete is followed by a Shutdown.
// Sandbox.ShutdownSandbox is for runtimes with their own sandbox API; CRI's podsandbox
// controller, which runs runc, never calls it. So in a pod with one container
//   - the first Shutdown is the container's, and from 2.0 to 2.3 the sandbox's;
//   - the second is the sandbox's, and from 2.0 to 2.3 there is none.
const onlyOne = ">= 2.0.0, < 2.4.0"

// once are the releases that send a pod's shim one Shutdown, and ignore its error.
var once = []harness.KnownViolations{{Releases: onlyOne, By: spec.ShimLeft, Issue: "containerd#8981"}}

// Both are for releases that send a Shutdown after the container's Delete.
var (
	// cutOff: containerd treats a closed connection as the exit of the shim. It cleans up
	// after the shim and never calls it again. The shim still has the sandbox, so it never
	// exits.
	cutOff = []harness.KnownViolations{
		{Releases: "< 2.0.0 || >= 2.4.0", By: spec.ShimLeft, Issue: "no issue known"},
	}
	// unwritten: CRI records an exit only when the following Delete has returned. If
	// containerd is killed in between, CRI finds no task after the restart, and reports
	// 255.
	unwritten = append(slices.Clone(halfDeleted), harness.KnownViolations{
		Releases: "< 2.0.0 || >= 2.4.0", By: spec.CRISaysUnknown, Issue: "no issue known"})
)

// pod returns a pod of one container. Its client's calls have this timeout; 0 means
// kubelet's timeout.
func pod(timeout time.Duration) harness.Workload {
	return harness.Workload{API: harness.CRI, CallTimeout: timeout, Containers: []harness.Container{{Exit: 7}}}
}

// second is the fault at the second hit of Shutdown.
func second(c term.Clause) failpoints.Fault {
	c.Count = 1
	return failpoints.Fault{At: failpoints.MustPoint(entry), Do: term.Of(term.Clause{Count: 1, Action: term.Off}, c)}
}

// held pauses the shim at its second Shutdown, which is the sandbox's, while these
// steps run.
func held(steps ...string) failpoints.Fault {
	f := second(term.Clause{Action: term.Pause})
	f.Meanwhile = failpoints.Steps(steps...)
	return f
}

// unowned: a starting containerd does not look for shims without a task.
var unowned = []harness.KnownViolations{{Releases: "< 1.7.0", By: spec.ShimLeft, Issue: "containerd#6860"}}

// ignored are the releases that ignore the error of the sandbox's Shutdown.
var ignored = []harness.KnownViolations{{Releases: "< 2.4.0", By: spec.ShimLeft, Issue: "containerd#8981"}}

var _ = Describe("a pod whose shim's first Shutdown, of its container", Label("cri", "shim", "issue:8981"), func() {
	DescribeTable("leaves no shim when it",
		func(ctx context.Context, name string, fault failpoints.Fault, bad []harness.KnownViolations) {
			spec.Holds(
				ctx,
				harness.Case{Name: "shutdown-container-" + name, Workload: pod(0), Bad: bad, Plan: failpoints.Plan{fault}},
			)
		},
		Entry("failed", "fails", failpoints.Error(entry, 1, "injected"), once),
		Entry("ran and its reply was lost", spec.Quick, "reply-lost", failpoints.Once(entry, term.Lose), nil),
		Entry("met a closed connection", "connection-closed", failpoints.Once(entry, term.Close), cutOff),
		Entry("never answered", spec.Slow, "hangs", failpoints.Once(entry, term.Hang), once),
		Entry("was held while containerd was SIGKILLed", Label("crash"), "containerd-killed",
			failpoints.PauseAt(entry, failpoints.Steps("kill containerd", "start containerd", "release")...), unwritten),
	)
})

var _ = Describe("a pod whose shim's last Shutdown, of its sandbox", Label("cri", "shim", "issue:8981"), func() {
	BeforeEach(func() {
		if (harness.Case{Bad: once}).KnownViolationsOn(os.Getenv(spec.SubjectEnv)) != nil {
			Skip(
				"releases " + onlyOne + " send a pod's shim one Shutdown; the specs about the first are about the sandbox's there",
			)
		}
	})
	DescribeTable(
		"leaves no shim when it",
		func(ctx context.Context, name string, w harness.Workload, fault failpoints.Fault, bad []harness.KnownViolations) {
			spec.Holds(ctx, harness.Case{Name: "shutdown-sandbox-" + name, Workload: w, Bad: bad, Plan: failpoints.Plan{fault}})
		},
		Entry("failed", spec.Quick, "fails", pod(0), second(term.Clause{Action: term.Error, Arg: "injected"}), ignored),
		Entry("ran and its reply was lost", spec.Quick, "reply-lost", pod(0), second(term.Clause{Action: term.Lose}), nil),
		Entry("met a closed connection", "connection-closed", pod(0), second(term.Clause{Action: term.Close}), nil),
		Entry("never answered", spec.Slow, "hangs", pod(0), second(term.Clause{Action: term.Hang}), ignored),
		Entry(
			"was held until the client was done",
			spec.Slow,
			"held",
			pod(0),
			held("await removal", "release"),
			ignored,
		),
		Entry(
			"was held past the deadline of the client's call",
			spec.Slow,
			"deadline",
			pod(5*time.Second),
			held("await call", "await removal", "release"),
			ignored,
		),
		Entry("was held while containerd was SIGKILLed", spec.Quick, Label("crash"), "containerd-killed", pod(0),
			held("kill containerd", "start containerd", "release"), unowned),
	)
})
