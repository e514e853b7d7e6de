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

// broke matches a client that broke its connection there, and whose stream has ended.
func broke(where harness.Break) types.GomegaMatcher {
	return And(HaveField("Breaks", where), HaveField("Broke", Not(BeZero())), HaveField("Ended", Not(BeZero())))
}

// stayed matches a client that got one whole output at least, and whose stream ended.
var stayed = And(HaveField("Broke", BeZero()), HaveField("Ended", Not(BeZero())),
	Or(HaveField("Outputs.Stdout.Last", lines), HaveField("Outputs.Stderr.Last", lines)))

// The plain cases have all of its work without a fault.
var _ = Describe("a client of CRI's streaming server", Label("others", "exec", "stdin"), func() {
	It("may break its connection after a SIGKILL of containerd: the container keeps running for the next",
		func(ctx context.Context) {
			v := spec.Holds(ctx, harness.Case{Name: "others-stream-killed", Plan: failpoints.Plan{
				failpoints.Kill("proc:containerd:running")},
				Workload: one(harness.CRI, harness.Container{Exit: 7, Exec: 3, Stdin: lines, Stream: harness.StreamBroken})})
			i := v.History.Instances[0]
			Expect(i.Attaches).To(ConsistOf(broke(harness.BreaksInput), broke(harness.BreaksOutput), stayed))
			Expect(i.Input.Read.Last).To(Equal(lines))
			Expect(i.Payload.EOFAt).To(BeZero())
			Expect(i.Outputs.Stdout.Last).To(Equal(lines))
			Expect(i.Execs).To(ConsistOf(HaveField("Sync.Broke", Not(BeZero()))))
		})
})
