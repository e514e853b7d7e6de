package control

import (
	"context"
	"slices"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/shimquake/shimquake/audit"
	"github.com/shimquake/shimquake/catalogue"
	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/harness/runner"
	"github.com/shimquake/shimquake/suites/spec"
)

// look audits the world as a live node: it shares nothing with the harness but the
// machine.
func look(ctx context.Context, s runner.Scene) (*audit.Report, error) {
	return audit.Run(ctx, audit.Options{PID: s.World.InitPID(), Settle: 100 * time.Millisecond})
}

var _ = Describe("the audit of a node on which something was left on purpose", Label("control", "audit"), func() {
	for _, c := range slices.Concat(controls, auditControls) {
		must := c.audit != ""
		text := "says nothing of " + c.name
		if must {
			text = "finds " + c.name
		}
		It(text, spec.Quick, func(ctx context.Context) {
			k := harness.Case{Name: "control-audit", Workload: exits(c.api)}
			if v := clean(ctx, k); c.since != "" && older(v.Version, c.since) {
				Skip(v.Version + " is older than " + c.since)
			}
			k.Workload.Settle = soon
			var before, after *audit.Report
			sabotaged(ctx, k, func(ctx context.Context, s runner.Scene) (err error) {
				if before, err = look(ctx, s); err != nil {
					return err
				}
				if err := c.leave(ctx, s); err != nil {
					return err
				}
				after, err = look(ctx, s)
				return err
			})
			Expect(before).NotTo(BeNil())
			Expect(before.Partial).To(BeEmpty(), "%v", before)
			Expect(before.Suspects).To(BeEmpty(), "%v", before)
			Expect(after).NotTo(BeNil())
			Expect(after.Partial).To(BeEmpty(), "%v", after)
			if !must {
				Expect(after.Suspects).To(BeEmpty(), "%v", after)
				return
			}
			Expect(after.Suspects).To(HaveLen(1), "%v", after)
			Expect(after.Suspects[0].Kind).To(Equal(c.audit), "%v", after)
			Expect(after.Suspects[0].Do).NotTo(BeEmpty())
		})
	}
	It("was asked for every kind of suspect that can be planted so", spec.Quick, func() {
		var have []audit.Kind
		for _, c := range slices.Concat(controls, auditControls) {
			have = append(have, c.audit)
		}
		// A task that lies is made in audit's own tests.
		Expect(have).To(ContainElements(slices.DeleteFunc(audit.Kinds(),
			func(k audit.Kind) bool { return k == audit.LostTask })))
	})
})

// A release that has a bug leaves what the audit must find, by itself.
var _ = Describe("the audit of a node after containerd#8981", Label("control", "audit"), func() {
	It("finds the shim, and knows its version", spec.Quick, func(ctx context.Context) {
		k, err := catalogue.Find("shutdown-error-once")
		Expect(err).NotTo(HaveOccurred())
		k.Containerd = "v2.3.7"
		var after *audit.Report
		r := &runner.Runner{Evidence: GinkgoT().TempDir(), Log: GinkgoWriter,
			Sabotage: func(ctx context.Context, s runner.Scene) (err error) {
				after, err = look(ctx, s)
				return err
			}}
		v := r.Run(ctx, k)
		Expect(v.Outcome).To(Equal(harness.Violated), "%v", v)
		Expect(after).NotTo(BeNil())
		Expect(after.Suspects).To(HaveLen(1), "%v", after)
		s := after.Suspects[0]
		Expect(s.Kind).To(Equal(audit.Shim))
		Expect(s.Version).To(HavePrefix("v2.3.7"))
		Expect(s.Sure).To(Equal(audit.Certain))
		Expect(s.Missing).To(ContainElements("task", "bundle"))
		GinkgoWriter.Println(after)
	})
})
