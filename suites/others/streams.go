package others

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/shimquake/shimquake/failpoints"
	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/suites/spec"
)

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
			spec.ExpectBrokenStreams(i)
			Expect(i.Attaches).To(ContainElement(spec.Stayed(lines)))
		})
})
