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

// brokenStreams is a pod whose clients close their connections to its container.
func brokenStreams() harness.Workload {
	w := one(harness.CRI, harness.Container{Exit: 7, Stdin: lines, Execs: []harness.ExecSpec{{Exit: 3}}})
	w.Script = []string{"run pod", "create c0", "mark created", "start c0", "mark running",
		"exec c0/e0 &", "write c0/e0 1750", "disconnect c0/e0", "join",
		"attach c0/a0", "write c0/a0 1750", "disconnect c0/a0", "attach c0/a1", "attach c0/a2", "soak 30ms",
		"write c0/a2 5250", "end c0", "disconnect c0/a1", "wait c0", "mark exited"}
	return w
}

// Package plain does the same without a fault.
var _ = Describe("a client of CRI's streaming server", Label("others", "exec", "stdin"), func() {
	It("may break its connection after a SIGKILL of containerd: the container keeps running for the next",
		func(ctx context.Context) {
			v := spec.Holds(ctx, harness.Case{Name: "others-stream-killed", Plan: failpoints.Plan{
				failpoints.Kill("proc:containerd:running")},
				Workload: brokenStreams()})
			i := v.History.Instances[0]
			Expect(i.Attaches).To(ConsistOf(broke(harness.BreaksInput), broke(harness.BreaksOutput), stayed))
			Expect(i.Input.Read.Last).To(Equal(lines))
			Expect(i.Payload.EOFAt).To(BeZero())
			Expect(i.Outputs.Stdout.Last).To(Equal(lines))
			Expect(i.Execs).To(ConsistOf(HaveField("Sync.Broke", Not(BeZero()))))
		})
})
