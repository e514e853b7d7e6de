package protocol

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/shimquake/shimquake/failpoints"
	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/oracle"
	"github.com/shimquake/shimquake/suites/spec"
)

// lie is the status that a lying shim reports in place of 7.
const lie = 99

// These are controls of the oracle: it is the shim that is wrong, and no containerd can
// know better. What it tells must be caught on every release, by the observer that was
// lied to.
var _ = Describe("the oracle catches a shim that", Label("control"), func() {
	told := func(by ...oracle.Class) []harness.Bad {
		return []harness.Bad{{Releases: anyRelease, By: by, Issue: "the shim's own doing: a control of the oracle"}}
	}
	DescribeTable(
		"reports another exit status than the real one in",
		func(ctx context.Context, word string, plan failpoints.Plan, by oracle.Observer, classes ...oracle.Class) {
			c := misbehaving("lies-in-"+word, word+"=99")
			c.Plan = plan
			c.Bad = told(append(classes, oracle.ClassExitCode)...)
			v := spec.Holds(ctx, c)
			Expect(v.Truths).To(ConsistOf(HaveField("Status", uint32(7))), "the payload itself does not lie")
			Expect(v.Told).To(ContainElement(And(HaveField("Observer", by), HaveField("Status", uint32(lie)))))
			Expect(v.Violations()).To(ContainElement(spec.HaveFacts(oracle.Facts{
				oracle.FactBy: string(by), oracle.FactTold: "99", oracle.FactTrue: "7"})))
		},
		Entry("its reply to Wait", spec.Quick, "wait", nil, oracle.ByWait),
		Entry("its reply to Delete", spec.Quick, "delete", nil, oracle.ByDelete),
		Entry("its reply to State", spec.Quick, "state", nil, oracle.ByShimState),
		Entry("its exit event", spec.Quick, "event", nil, oracle.ByTaskExit),
		Entry(
			"the answer of its `delete` command",
			spec.Quick,
			"cleanup-exit",
			failpoints.Plan{failpoints.Kill("proc:shim:exited")},
			oracle.ByTaskDelete,
			oracle.ClassEvent,
		), // the second exit event contradicts the first
	)
	It("reports another exit status everywhere", spec.Quick, func(ctx context.Context) {
		c := misbehaving("lies-everywhere", "exit=99")
		c.Bad = told(oracle.ClassExitCode)
		v := spec.Holds(ctx, c)
		for _, by := range []oracle.Observer{oracle.ByWait, oracle.ByDelete, oracle.ByShimState, oracle.ByShimDelete,
			oracle.ByTaskExit} {
			Expect(v.Violations()).To(ContainElement(spec.HaveFacts(oracle.Facts{oracle.FactBy: string(by)})))
		}
	})
	DescribeTable("does not publish",
		func(ctx context.Context, words string) {
			c := misbehaving("events-"+words, "events="+words)
			c.Bad = told(oracle.ClassEvent)
			spec.Holds(ctx, c)
		},
		Entry("any event", "none"),
		Entry("the exit", "no-exit"),
	)
	DescribeTable("publishes as little, or as much, as shims are known to:",
		func(ctx context.Context, words string, residue string) {
			v := spec.Holds(ctx, misbehaving("events-"+words, "events="+words))
			Expect(v.Findings).To(ContainElement(HaveField("Known", residue)))
		},
		Entry("no delete", spec.Quick, "no-delete", "taskdelete-lost"),
		Entry("each exit twice", spec.Quick, "twice", "exit-repeated"),
	)
	It("is said to misbehave and does not: the verdict is invalid", spec.Quick, func(ctx context.Context) {
		// containerd sends a shim no SIGTERM.
		v := spec.Run1(ctx, misbehaving("misbehaviour-not-met", "sigterm=ignore"))
		Expect(v.Outcome).To(Equal(harness.Invalid))
		Expect(v.Why()).To(ContainSubstring("fakeshim sigterm=ignore"))
	})
})
