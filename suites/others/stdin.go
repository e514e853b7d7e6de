package others

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/shimquake/shimquake/failpoints"
	"github.com/shimquake/shimquake/failpoints/probe/term"
	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/harness/script"
	"github.com/shimquake/shimquake/suites/spec"
)

// reads is a container that reads its standard input to the end, with an exec that does
// the same.
var reads = withExec(harness.Container{Exit: 7, Stdin: lines}, harness.ExecSpec{Exit: 3})

// closeIO and closedIO are the entry and the exit of CloseIO. The second one is the
// container's: the exec in it has ended before.
const closeIO, closedIO = "rpc:shim:Task.CloseIO:entry", "rpc:shim:Task.CloseIO:exit"

var _ = Describe("a standard input", Label("others", "exec", "stdin"), func() {
	DescribeTable("is read to its end, and ends when it is closed, although",
		func(ctx context.Context, name string, faults ...failpoints.Fault) {
			v := spec.Holds(ctx, harness.Case{Name: "others-stdin-" + name, Workload: reads, Plan: faults})
			Expect(v.History.Instances[0].Input).To(spec.WholeInput(lines))
		},
		Entry("containerd was SIGKILLed before", spec.Quick, "containerd-killed",
			failpoints.Kill("proc:containerd:running")),
		// The fault is at the entry of CloseIO. After CloseIO the process exits, and an exit
		// while containerd is down may go unreported.
		Entry("containerd was SIGKILLed during its CloseIO", spec.Quick, "close-killed",
			failpoints.PauseNth(closeIO, 2, failpoints.Steps("kill containerd", "start containerd", "release")...)),
		Entry("its first CloseIO has failed", "close-fails", failpoints.Nth(closeIO, 2, term.Error, "injected")),
		Entry("the response of its CloseIO came late", "answer-slow", failpoints.Nth(closedIO, 2, term.Delay, "300")),
		Entry("the shim is slow to close it", "close-slow", failpoints.Nth(closeIO, 2, term.Delay, "300")),
	)
	It("stays open during a restart of containerd", func(ctx context.Context) {
		w := reads
		w.Script = script.WithRunning("restart containerd")
		v := spec.Holds(ctx, harness.Case{Name: "others-stdin-restart", Workload: w})
		Expect(v.History.Instances[0].Input).To(spec.WholeInput(lines))
	})
})
