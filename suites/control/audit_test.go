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

// audited are the controls that an audit of a live node must find, each with the kind
// and what else is left with it. It knows no time before, so all other controls are
// things that somebody may want, and it must not accuse them.
var audited = map[string]audit.Kind{
	"a real shim that containerd does not know":               audit.Shim,
	"a process of runc's that containerd does not know":       audit.Forgotten,
	"the socket of a killed shim":                             audit.Listener,
	"a bundle":                                                audit.Directory,
	"a bundle in whose removal containerd died":               audit.Directory,
	"a work directory":                                        audit.Directory,
	"a cgroup":                                                audit.Group,
	"the state of a killed container of runc's":               audit.RuncState,
	"a network namespace that no pod has, as CNI's are named": audit.Mounted,
	"a container of CRI's that CRI does not list":             audit.InCRI,
	"the root file system of a container that is gone":        audit.Directory, // it keeps its bundle
}

// look audits the world as a live node: it shares nothing with the harness but the
// machine.
func look(ctx context.Context, s runner.Scene) (*audit.Report, error) {
	return audit.Run(ctx, audit.Options{PID: s.World.InitPID(), Settle: 100 * time.Millisecond})
}

var _ = Describe("the audit of a node on which something was left on purpose", Label("control", "audit"), func() {
	for _, c := range slices.Concat(controls, auditControls) {
		kind, must := audited[c.name]
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
			Expect(after.Suspects[0].Kind).To(Equal(kind), "%v", after)
			Expect(after.Suspects[0].Do).NotTo(BeEmpty())
		})
	}
	It("was asked for every kind of suspect that can be planted so", spec.Quick, func() {
		var have []audit.Kind
		for _, kind := range audited {
			have = append(have, kind)
		}
		// A task that lies is made in audit's own tests.
		Expect(have).To(ContainElements(slices.DeleteFunc(slices.Clone(audit.Kinds),
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
