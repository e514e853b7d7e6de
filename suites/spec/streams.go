package spec

import (
	"github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/types"

	"github.com/shimquake/shimquake/harness"
)

// WholeOutputs matches outputs with every line.
func WholeOutputs(lines int) types.GomegaMatcher {
	return HaveValue(And(HaveField("Stdout.Last", lines), HaveField("Stderr.Last", lines),
		HaveField("Stdout.Holes", BeEmpty()), HaveField("Stderr.Holes", BeEmpty())))
}

// WholeInput matches an input of which every line was read before it was closed.
func WholeInput(lines int) types.GomegaMatcher {
	return HaveValue(And(HaveField("Read.Last", lines), HaveField("Read.Holes", BeEmpty()),
		HaveField("Closed", Not(BeZero()))))
}

// Stayed matches a client of a stream that did not break its connection. It got one whole
// output at least.
func Stayed(lines int) types.GomegaMatcher {
	return And(HaveField("Broke", BeZero()), HaveField("Ended", Not(BeZero())),
		Or(HaveField("Outputs.Stdout.Last", lines), HaveField("Outputs.Stderr.Last", lines)))
}

// ExpectBrokenStreams expects that two of three clients broke their connections to a
// container's streams, and that the container kept running for the third.
func ExpectBrokenStreams(i harness.Instance) {
	ginkgo.GinkgoHelper()
	ended := HaveField("Ended", Not(BeZero()))
	broke := func(where harness.Break) types.GomegaMatcher {
		return And(HaveField("Breaks", where), HaveField("Broke", Not(BeZero())), ended)
	}
	Expect(i.Attaches).To(ConsistOf(broke(harness.BreaksInput), broke(harness.BreaksOutput),
		And(HaveField("Broke", BeZero()), ended)))
	Expect(i.Input.Read.Last).To(Equal(i.Spec.Stdin))
	Expect(i.Payload.EOFAt).To(BeZero())
	Expect(i.Outputs.Stdout.Last).To(Equal(i.Spec.Stdin))
	Expect(i.Execs).To(ConsistOf(HaveField("Sync.Broke", Not(BeZero()))))
}
