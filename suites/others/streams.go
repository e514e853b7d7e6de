package others

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/types"

	"github.com/shimquake/shimquake/failpoints"
	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/suites/spec"
)

// streamed is a container whose clients use CRI's streaming server.
func streamed(how harness.Stream) harness.Workload {
	return one(harness.CRI, harness.Container{Exit: 7, Exec: 3, Stdin: lines, Stream: how})
}

// broke is a client that has broken its connection there, and whose stream has ended.
func broke(where harness.Break) types.GomegaMatcher {
	return And(HaveField("Breaks", where), HaveField("Broke", Not(BeZero())), HaveField("Ended", Not(BeZero())))
}

// stayed is a client that was told all of one output at least, and whose stream ended.
var stayed = And(HaveField("Broke", BeZero()), HaveField("Ended", Not(BeZero())),
	Or(HaveField("Outputs.Stdout.Last", lines), HaveField("Outputs.Stderr.Last", lines)))

var _ = Describe("a client of CRI's streaming server", Label("others", "exec", "stdin"), func() {
	It("writes the input of a container, and of an exec, closes it, and is told all that they write", spec.Quick,
		func(ctx context.Context) {
			v := spec.Holds(ctx, harness.Case{Name: "others-stream", Workload: streamed(harness.StreamWhole)})
			i := v.History.Instances[0]
			Expect(i.Input).To(allRead)
			Expect(i.Attaches).To(ConsistOf(stayed))
			Expect(i.Outputs.Stdout.Last).To(Equal(lines))
			Expect(i.Execs).To(ConsistOf(And(HaveField("Input", allRead), HaveField("Outputs.Stderr.Last", lines),
				HaveField("Sync.Status", uint32(3)))))
		})
	DescribeTable("may break its connection: the container runs on for the next",
		func(ctx context.Context, name string, faults ...failpoints.Fault) {
			v := spec.Holds(ctx, harness.Case{Name: "others-stream-" + name, Workload: streamed(harness.StreamBroken),
				Plan: faults})
			i := v.History.Instances[0]
			Expect(i.Attaches).To(ConsistOf(broke(harness.BreaksInput), broke(harness.BreaksOutput), stayed))
			Expect(i.Input.Read.Last).To(Equal(lines))
			Expect(i.Payload.EOFAt).To(BeZero())
			Expect(i.Outputs.Stdout.Last).To(Equal(lines))
			Expect(i.Execs).To(ConsistOf(HaveField("Sync.Broke", Not(BeZero()))))
		},
		Entry("without a fault", spec.Quick, "broken"),
		Entry("after containerd was SIGKILLed", "killed", failpoints.Kill("proc:containerd:running")),
	)
	It("may go away while an ExecSync runs: that is killed", spec.Quick, func(ctx context.Context) {
		v := spec.Holds(ctx, harness.Case{Name: "others-stream-gone",
			Workload: one(harness.CRI, harness.Container{Exit: 7, GoneExec: true})})
		Expect(v.History.Instances[0].Execs).To(ConsistOf(HaveField("Sync.Broke", Not(BeZero()))))
		Expect(v.Truths).To(ConsistOf(HaveField("Status", uint32(7)), HaveField("Status", uint32(137))))
	})
})
