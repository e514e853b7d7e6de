package protocol

import (
	"context"
	"fmt"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/shimquake/shimquake/failpoints"
	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/oracle/exit"
	"github.com/shimquake/shimquake/oracle/finding"
	"github.com/shimquake/shimquake/suites/spec"
)

// wrongStatus is the status that a shim reports instead of 7.
const wrongStatus = 99

// misbehaving returns a container that exits by itself. Its fake shim has these
// misbehaviours.
func misbehaving(name, words string) harness.Case {
	return harness.Case{
		Name:     name,
		Workload: harness.Workload{Fakeshim: words, Containers: []harness.Container{{Exit: 7}}},
	}
}

// These specs test the harness. The shim reports a wrong status, and no containerd can
// notice that. The harness must find the wrong report on every release, at each
// observer that got it.
var _ = Describe("the oracle catches a shim that", Label("control"), func() {
	reports := func(by exit.Observer) finding.Match {
		return finding.MustMatches(fmt.Sprintf("exit-code by=%s status=wrong reported=%d true=7", by, wrongStatus))[0]
	}
	may := []finding.Match{reports(exit.ByTaskDelete)} // the event of a Delete may be lost (taskdelete-lost)
	DescribeTable(
		"reports another exit status than the real one in",
		func(ctx context.Context, word string, plan failpoints.Plan, by []exit.Observer, events ...finding.Match) {
			c := misbehaving("wrong-in-"+word, word+"=99")
			c.Plan = plan
			for _, o := range by {
				events = append(events, reports(o))
			}
			v := spec.Shows(ctx, c, events, may)
			Expect(v.Truths).To(ConsistOf(HaveField("Status", uint32(7))), "the payload itself reports nothing wrong")
			Expect(v.Reported).To(ContainElement(And(HaveField("Observer", by[0]), HaveField("Status", uint32(wrongStatus)))))
		},
		Entry("its reply to Wait", spec.Quick, "wait", nil, []exit.Observer{exit.ByWait}),
		Entry("its reply to Delete", spec.Quick, "delete", nil, []exit.Observer{exit.ByDelete, exit.ByShimDelete}),
		Entry("its reply to State, which containerd passes on", spec.Quick, "state", nil,
			[]exit.Observer{exit.ByShimState, exit.ByTaskStatus, exit.ByTaskList}),
		Entry("its exit event", spec.Quick, "event", nil, []exit.Observer{exit.ByTaskExit}),
		Entry(
			"the response of its `delete` command",
			spec.Quick,
			"cleanup-exit",
			failpoints.Plan{failpoints.Kill("proc:shim:exited")},
			[]exit.Observer{exit.ByTaskDelete, exit.ByTaskExit},
			finding.MustMatches("event event=repeated topic=/tasks/exit repeat=other-status")[0],
		), // the second exit event contradicts the first
	)
	It("reports another exit status everywhere", spec.Quick, func(ctx context.Context) {
		c := misbehaving("wrong-everywhere", "exit=99")
		var all []finding.Match
		for _, by := range []exit.Observer{exit.ByWait, exit.ByDelete, exit.ByShimState, exit.ByShimDelete,
			exit.ByTaskExit, exit.ByTaskStatus, exit.ByTaskList} {
			all = append(all, reports(by))
		}
		spec.Shows(ctx, c, all, may)
	})
	DescribeTable("does not publish",
		func(ctx context.Context, words string, topics ...string) {
			c := misbehaving("events-"+words, "events="+words)
			var missing []finding.Match
			for _, topic := range topics {
				missing = append(missing, finding.MustMatches("event event=missing topic="+topic)...)
			}
			spec.Shows(ctx, c, missing, nil)
		},
		Entry("any event", "none", "/tasks/create", "/tasks/start", "/tasks/exit"),
		Entry("the exit", "no-exit", "/tasks/exit"),
	)
	DescribeTable("publishes like real shims:",
		func(ctx context.Context, words string, residue string) {
			v := spec.Holds(ctx, misbehaving("events-"+words, "events="+words))
			Expect(v.Findings).To(ContainElement(HaveField("Known", residue)))
		},
		Entry("no delete", spec.Quick, "no-delete", "taskdelete-lost"),
		Entry("each exit twice", spec.Quick, "twice", "exit-repeated"),
	)
})
