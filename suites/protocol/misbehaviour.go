// Package protocol has the specs about shims that violate the protocol: in their
// response to `start`, in their reports, or with a broken connection at a call. The
// fake shim misbehaves in this way, and records that it did. The sweep has shims that
// crash at a call.
package protocol

import (
	"context"
	"time"

	. "github.com/onsi/ginkgo/v2"

	"github.com/shimquake/shimquake/failpoints"
	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/suites/spec"
)

// giveUp is the client's timeout for a call that starts a hanging shim.
const giveUp = 2 * time.Second

// misbehaving returns a container that exits by itself. Its fake shim has these
// misbehaviours.
func misbehaving(name, words string) harness.Case {
	return harness.Case{
		Name:     name,
		Workload: harness.Workload{Fakeshim: words, Containers: []harness.Container{{Exit: 7}}},
	}
}

var _ = Describe("a shim that misbehaves when it is started", Label("shim", "start"), func() {
	DescribeTable("leaves nothing, and its id can be used again, when the start",
		func(ctx context.Context, name, words string, bugs ...string) {
			c := misbehaving("start-"+name, words)
			c.Bugs = bugs
			spec.Holds(ctx, c)
		},
		Entry("is refused before it did anything", spec.Quick, "refused", "start=refuse"),
		Entry("responds 300 ms late", spec.Quick, "late", "start=late(300ms)"),
		Entry("fails after the shim was forked", "failed", "start=fail", "shim-start-helper"),
		Entry("responds like shims of containerd 1.6", spec.Quick, "answer-old", "bootstrap=old"),
		Entry("answers garbage", "answer-garbage", "bootstrap=garbage", "shim-start-unfinished"),
		Entry("answers nothing", "answer-empty", "bootstrap=empty", "shim-start-unfinished"),
		Entry("responds with the address of no socket", "answer-nowhere", "bootstrap=nowhere", "shim-start-unfinished"),
	)
	DescribeTable("leaves nothing when the client gives up after 2 s and the start",
		func(ctx context.Context, name, words string) {
			c := misbehaving("start-"+name, words)
			c.Workload.CallTimeout = giveUp
			c.Bugs = []string{"shim-start-helper"}
			spec.Holds(ctx, c)
		},
		Entry("never answers", "hangs", "start=hang"),
		Entry("answers after 3 s", "too-late", "start=late(3s)"),
	)
})

var _ = Describe("a shim that does not end on request", Label("shim", "shutdown"), func() {
	c := misbehaving("socket-left", "socket=leave")
	c.Bugs = []string{"socket-not-removed"}
	spec.It("leaves no socket", c)
})

var _ = Describe("a SIGKILLed shim whose `delete` command", Label("shim", "crash"), func() {
	at := func(state, name, words string, bugs ...string) harness.Case {
		c := misbehaving("cleanup-"+name+"-"+state, words)
		if state == "running" {
			c.Workload.Containers = []harness.Container{
				{Signal: "SIGKILL"},
			} // the container runs until the cleanup of containerd kills it
		}
		c.Plan = failpoints.Plan{failpoints.Kill("proc:shim:" + state)}
		c.Bugs = bugs
		return c
	}
	DescribeTable(
		"misbehaves leaves nothing and no made-up exit code, when it",
		func(ctx context.Context, c harness.Case) { spec.Holds(ctx, c) },
		Entry("takes 500 ms, and the container had exited", spec.Quick, at("exited", "late", "cleanup=late(500ms)")),
		Entry("takes 500 ms, and the container runs", spec.Quick, at("running", "late", "cleanup=late(500ms)")),
		Entry("fails, and the container had exited", at("exited", "fails", "cleanup=fail", "delete-command-fails")),
		Entry("never ends, and the container had exited", at("exited", "hangs", "cleanup=hang", "cleanup-too-slow")),
		Entry("never ends, and the container runs", at("running", "hangs", "cleanup=hang", "delete-command-fails")),
	)
})
