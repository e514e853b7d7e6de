package protocol

import (
	"context"
	"fmt"

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
	// The event of a Delete may be lost (taskdelete-lost).
	told := func(by ...oracle.Match) []harness.Bad {
		return []harness.Bad{{
			Releases: anyRelease, By: by, Issue: "the shim's own doing: a control of the oracle",
			May: oracle.MustMatches(fmt.Sprintf("exit-code by=TaskDelete status=wrong told=%d true=7", lie)),
		}}
	}
	lies := func(by oracle.Observer) oracle.Match {
		return oracle.MustMatches(fmt.Sprintf("exit-code by=%s status=wrong told=%d true=7", by, lie))[0]
	}
	DescribeTable(
		"reports another exit status than the real one in",
		func(ctx context.Context, word string, plan failpoints.Plan, by []oracle.Observer, events ...oracle.Match) {
			c := misbehaving("lies-in-"+word, word+"=99")
			c.Plan = plan
			for _, o := range by {
				events = append(events, lies(o))
			}
			c.Bad = told(events...)
			v := spec.Holds(ctx, c)
			Expect(v.Truths).To(ConsistOf(HaveField("Status", uint32(7))), "the payload itself does not lie")
			Expect(v.Told).To(ContainElement(And(HaveField("Observer", by[0]), HaveField("Status", uint32(lie)))))
		},
		Entry("its reply to Wait", spec.Quick, "wait", nil, []oracle.Observer{oracle.ByWait}),
		Entry("its reply to Delete", spec.Quick, "delete", nil, []oracle.Observer{oracle.ByDelete, oracle.ByShimDelete}),
		Entry("its reply to State, which containerd passes on", spec.Quick, "state", nil,
			[]oracle.Observer{oracle.ByShimState, oracle.ByTaskStatus, oracle.ByTaskList}),
		Entry("its exit event", spec.Quick, "event", nil, []oracle.Observer{oracle.ByTaskExit}),
		Entry(
			"the answer of its `delete` command",
			spec.Quick,
			"cleanup-exit",
			failpoints.Plan{failpoints.Kill("proc:shim:exited")},
			[]oracle.Observer{oracle.ByTaskDelete, oracle.ByTaskExit},
			oracle.MustMatches("event event=repeated topic=/tasks/exit repeat=other-status")[0],
		), // the second exit event contradicts the first
	)
	It("reports another exit status everywhere", spec.Quick, func(ctx context.Context) {
		c := misbehaving("lies-everywhere", "exit=99")
		var all []oracle.Match
		for _, by := range []oracle.Observer{oracle.ByWait, oracle.ByDelete, oracle.ByShimState, oracle.ByShimDelete,
			oracle.ByTaskExit, oracle.ByTaskStatus, oracle.ByTaskList} {
			all = append(all, lies(by))
		}
		c.Bad = told(all...)
		spec.Holds(ctx, c)
	})
	DescribeTable("does not publish",
		func(ctx context.Context, words string, topics ...string) {
			c := misbehaving("events-"+words, "events="+words)
			var missing []oracle.Match
			for _, topic := range topics {
				missing = append(missing, oracle.MustMatches("event event=missing topic="+topic)...)
			}
			c.Bad = told(missing...)
			spec.Holds(ctx, c)
		},
		Entry("any event", "none", "/tasks/create", "/tasks/start", "/tasks/exit"),
		Entry("the exit", "no-exit", "/tasks/exit"),
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
