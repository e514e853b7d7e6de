package exitcode

import (
	_ "embed" // the specs
	"slices"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/shimquake/shimquake/failpoints"
	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/oracle/exit"
	"github.com/shimquake/shimquake/oracle/fact"
	"github.com/shimquake/shimquake/suites/spec"
)

//go:embed exitcode.yaml
var specs string

var _ = spec.File("suites/exitcode/exitcode.yaml", specs, shows)

// shows checks the history of a case, by its name.
var shows = map[string]func(harness.Verdict){
	"exit-in-create": killReported,
	"exit-crash-loop": func(v harness.Verdict) {
		expectRounds(v, 3, 1)
		Expect(v.Truths).To(HaveEach(HaveField("Status", BeElementOf(uint32(7), uint32(137), uint32(5)))))
		stays := v.History.Instances[slices.IndexFunc(v.History.Instances,
			func(i harness.Instance) bool { return i.Name == "c2" })]
		for _, r := range v.History.CRI.Rounds {
			Expect(r.Listed.Containers).To(ContainElement(stays.ID))
		}
		Expect(stays.Payload.ExitedAt).To(BeTemporally(">", v.History.CRI.Rounds[2].Listed.At))
	},
	"exit-while-down-for-4":          killReported,
	"exit-crash-loop-delete-refused": func(v harness.Verdict) { expectRounds(v, 3, 0) },
}

func killReported(v harness.Verdict) {
	Expect(v.Reported).To(ContainElement(And(
		HaveField("Observer", exit.ByTaskExit), HaveField("Status", uint32(137)))))
}

// expectRounds expects an inventory of each round, because a crash loop that ends early
// would show nothing. CRI's list must have the pod, the containers that keep running,
// and the bystander's pod with its container.
func expectRounds(v harness.Verdict, n, stay int) {
	GinkgoHelper()
	Expect(v.History.CRI.Rounds).To(HaveLen(n))
	Expect(v.History.CRI.Rounds).To(HaveEach(And(
		HaveField("Inspection.Inventory", Not(BeNil())), HaveField("Listed.Sandboxes", HaveLen(2)),
		HaveField("Listed.Containers", HaveLen(1+stay)),
	)))
	Expect(v.Truths).To(HaveLen(2*n + stay))
	if slices.ContainsFunc(v.History.Hits, func(h failpoints.Hit) bool { return h.Who == "shim" }) { // it has probes
		asked := HaveField("Inspection.Inventory.Handles", ContainElement(And(
			HaveField("Shim", Not(BeNil())), HaveField("Collected", true), HaveField("Held",
				ContainElement(HaveField("Kind", fact.AGoroutine))))))
		Expect(v.History.CRI.Rounds).To(ContainElement(asked), "no shim was asked for its goroutines")
	}
}
