package control

import (
	"context"
	"path/filepath"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/shimquake/shimquake/fixtures/cni"
	"github.com/shimquake/shimquake/fixtures/cni/record"
	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/harness/runner"
	"github.com/shimquake/shimquake/oracle/finding"
	"github.com/shimquake/shimquake/suites/spec"
)

// netPod returns a pod with its own network.
func netPod() harness.Workload {
	w := exits(harness.CRI)
	w.Network = harness.PodNetwork
	return w
}

// forgetDel leaves an ADD without a DEL.
func forgetDel(_ context.Context, s runner.Scene) error {
	return record.Append(filepath.Join(s.World.TruthDir(), "cni"), record.Call{
		Command: record.Add, Network: cni.Network, Interface: "eth0", Container: planted, Netns: "/run/netns/planted",
	})
}

// The table in leak.go also plants a missing DEL, but there the network namespace is
// still mounted.
var _ = Describe("a pod with a network of its own", Label("control", "cri", "network"), func() {
	DescribeTable("is violated by", func(ctx context.Context, leave plant, class finding.Class) {
		w := netPod()
		w.Settle = soon
		v := sabotaged(ctx, harness.Case{Name: "control-network", Workload: w}, leave)
		Expect(v.Outcome).To(Equal(harness.Violated), "%v", v)
		Expect(classes(v)).To(ConsistOf(class), "%v", v)
	},
		Entry("the file of a network namespace that is not mounted any more", writeFile(func(runner.Scene) string {
			return "/run/netns/cni-planted"
		}), finding.ClassFile),
		Entry("the result that libcni keeps", spec.Quick, writeFile(func(runner.Scene) string {
			return filepath.Join(cni.Cache, cni.Network+"-"+planted+"-eth0")
		}), finding.ClassFile),
	)
})
