package control

import (
	"context"
	"slices"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/shimquake/shimquake/audit"
	"github.com/shimquake/shimquake/fixtures/containerd"
	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/harness/runner"
	"github.com/shimquake/shimquake/oracle/finding"
	"github.com/shimquake/shimquake/suites/spec"
)

// scan audits the world like a live node. The audit gets no information from the harness.
func scan(ctx context.Context, s runner.Scene) (*audit.Report, error) {
	return audit.Run(ctx, audit.Options{PID: s.World.InitPID(), Settle: 100 * time.Millisecond})
}

// audited plants a leak, and then audits the world.
func audited(leave plant, found **audit.Report) plant {
	return func(ctx context.Context, s runner.Scene) (err error) {
		if err := leave(ctx, s); err != nil {
			return err
		}
		*found, err = scan(ctx, s)
		return err
	}
}

// accuses asserts that the audit found only suspects of this kind, or none if the kind is
// "".
func accuses(found *audit.Report, kind finding.Class) {
	GinkgoHelper()
	Expect(found).NotTo(BeNil())
	Expect(found.Partial).To(BeEmpty(), "%v", found)
	if kind == "" {
		Expect(found.Suspects).To(BeEmpty(), "%v", found)
		return
	}
	Expect(found.Suspects).To(HaveLen(1), "%v", found)
	Expect(found.Suspects[0].Kind).To(Equal(kind), "%v", found)
	Expect(found.Suspects[0].Do).NotTo(BeEmpty())
}

var _ = Describe("the audit of a node", Label("control"), func() {
	It("is asked for every kind of suspect that can be planted", spec.Quick, func() {
		var have []finding.Class
		for _, c := range controls {
			have = append(have, c.audit)
		}
		// The audit's own tests have a task with a wrong status.
		Expect(have).To(ContainElements(slices.DeleteFunc(audit.Kinds(),
			func(k finding.Class) bool { return k == finding.ClassTask })))
	})
})

// A release with a bug leaves real suspects for the audit.
var _ = Describe("the audit of a node after containerd#8981", Label("control"), func() {
	It("finds the shim, and knows its version", spec.Quick, func(ctx context.Context) {
		k := spec.Named("shutdown-error-once")
		k.Containerd = containerd.QuickRelease
		var after *audit.Report
		v := sabotaged(ctx, k, func(ctx context.Context, s runner.Scene) (err error) {
			after, err = scan(ctx, s)
			return err
		})
		Expect(v.Outcome).To(Equal(harness.Violated), "%v", v)
		Expect(after).NotTo(BeNil())
		Expect(after.Suspects).To(HaveLen(1), "%v", after)
		s := after.Suspects[0]
		Expect(s.Kind).To(Equal(finding.ClassShim))
		Expect(s.Version).To(HavePrefix(containerd.QuickRelease))
		Expect(s.Sure).To(Equal(audit.Certain))
		Expect(s.Missing).To(ContainElements("task", "bundle"))
		GinkgoWriter.Println(after)
	})
})
