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
	"github.com/shimquake/shimquake/oracle/finding"
	"github.com/shimquake/shimquake/suites/spec"
)

const (
	anyRelease = ">= 1.6.0"
	noIssue    = "no issue known"
)

// orphaned: `start` forks the shim and then responds. Without a usable response,
// containerd removes the bundle and leaves the forked shim, because it knows the shim
// only from that response (binary.Start of core/runtime/v2).
var orphaned = []harness.KnownViolations{{Releases: anyRelease, By: spec.ShimLeft, Issue: noIssue}}

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
		func(ctx context.Context, name, words string, bad []harness.KnownViolations) {
			c := misbehaving("start-"+name, words)
			c.Bad = bad
			spec.Holds(ctx, c)
		},
		Entry("is refused before it did anything", spec.Quick, "refused", "start=refuse", nil),
		Entry("responds 300 ms late", spec.Quick, "late", "start=late(300ms)", nil),
		Entry("fails after the shim was forked", "failed", "start=fail", orphaned),
		Entry("responds like shims of containerd 1.6", spec.Quick, "answer-old", "bootstrap=old", nil),
		Entry("answers garbage", "answer-garbage", "bootstrap=garbage", orphaned),
		Entry("answers nothing", "answer-empty", "bootstrap=empty", orphaned),
		Entry("responds with the address of no socket", "answer-nowhere", "bootstrap=nowhere", orphaned),
	)
	DescribeTable("leaves nothing when the client gives up after 2 s and the start",
		func(ctx context.Context, name, words string) {
			c := misbehaving("start-"+name, words)
			c.Workload.CallTimeout = giveUp
			c.Bad = orphaned
			spec.Holds(ctx, c)
		},
		Entry("never answers", "hangs", "start=hang"),
		Entry("answers after 3 s", "too-late", "start=late(3s)"),
	)
})

var _ = Describe("a shim that does not end on request", Label("shim", "shutdown"), func() {
	It("leaves no socket", func(ctx context.Context) {
		c := misbehaving("socket-left", "socket=leave")
		// Only the shim removes its socket file. The file of a dead shim stays until the next
		// shim with that id removes it.
		c.Bad = []harness.KnownViolations{{
			Releases: anyRelease, By: finding.MustMatches("socket socket=silent"), Issue: noIssue}}
		spec.Holds(ctx, c)
	})
})

// unlearnt: containerd cannot get the exit of a container with a dead shim if the
// `delete` command fails. It then reports 255 with pid 0, although the shim has reported
// the real one.
var unlearnt = finding.MustMatches(
	"exit-code by=TaskExit status=made-up-255", "exit-code by=TaskDelete status=made-up-255",
	"event event=no-pid topic=/tasks/exit", "event event=no-pid topic=/tasks/delete")

// unlearntAgain: the shim reported the real exit before it was killed, so the wrong one
// is a second exit event.
var unlearntAgain = append(finding.MustMatches("event event=repeated topic=/tasks/exit repeat=other-status"),
	unlearnt...)

var _ = Describe("a SIGKILLed shim whose `delete` command", Label("shim", "crash"), func() {
	at := func(state, name, words string, bad ...harness.KnownViolations) harness.Case {
		c := misbehaving("cleanup-"+name+"-"+state, words)
		if state == "running" {
			c.Workload.Containers = []harness.Container{
				{Signal: "SIGKILL"},
			} // the container runs until the cleanup of containerd kills it
		}
		c.Plan = failpoints.Plan{failpoints.Kill("proc:shim:" + state)}
		c.Bad = bad
		return c
	}
	known := func(by ...finding.Match) harness.KnownViolations {
		return harness.KnownViolations{Releases: anyRelease, By: by, Issue: noIssue}
	}
	// A race within containerd decides whether the bundle stays. Its cleanup after the
	// closed connection forgets the task and keeps the bundle. If the client's Delete
	// comes first, it removes the bundle.
	raced := func(b harness.KnownViolations) harness.KnownViolations {
		b.May = finding.MustMatches("bundle", "container")
		return b
	}
	DescribeTable(
		"misbehaves leaves nothing and no made-up exit code, when it",
		func(ctx context.Context, c harness.Case) { spec.Holds(ctx, c) },
		Entry("takes 500 ms, and the container had exited", spec.Quick, at("exited", "late", "cleanup=late(500ms)")),
		Entry("takes 500 ms, and the container runs", spec.Quick, at("running", "late", "cleanup=late(500ms)")),
		Entry("fails, and the container had exited", at("exited", "fails", "cleanup=fail",
			raced(known(unlearntAgain...)))),
		Entry("never ends, and the container had exited", at("exited", "hangs", "cleanup=hang", known(unlearntAgain...))),
		Entry(
			"never ends, and the container runs",
			at("running", "hangs", "cleanup=hang", known(append(finding.MustMatches("process"), unlearnt...)...)),
		),
	)
})
