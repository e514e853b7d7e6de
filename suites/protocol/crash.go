package protocol

import (
	"context"
	"fmt"
	"strings"

	. "github.com/onsi/ginkgo/v2"

	"github.com/shimquake/shimquake/failpoints"
	"github.com/shimquake/shimquake/failpoints/probe/term"
	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/suites/spec"
)

// calls are the calls of a plain lifecycle. While those of the first list are made the
// container lives: it must not end by itself between the death of its shim and
// containerd's clean-up, when nobody could know of its exit, so it is one that waits for
// a signal.
var calls = []struct {
	name      string
	container harness.Container
}{
	{
		"Create",
		waiting,
	}, {"Connect", waiting}, {"Start", waiting}, {"State", waiting}, {"Wait", waiting}, {"Kill", waiting},
	{"Delete", exiting}, {"Shutdown", exiting},
}

// sides are the two moments of a call.
var sides = []struct{ name, what string }{
	{"entry", "before it does what it is asked for"},
	{"exit", "when it has done so, and has not answered"},
}

// cutOff: containerd takes a connection that ends for the end of the shim. It cleans up
// what the shim has, and never calls it again.
var cutOff = []harness.Bad{{Releases: anyRelease, By: spec.ShimLeft, Issue: noIssue}}

var (
	waiting = harness.Container{Signal: "SIGKILL"}
	exiting = harness.Container{Exit: 7}
)

var _ = Describe("a shim that breaks its connections at a call, and lives", Label("shim"), func() {
	for _, call := range calls {
		It("leaves nothing and no made-up exit code: "+call.name, func(ctx context.Context) {
			bad := cutOff
			if call.name == "Shutdown" {
				bad = nil // the shim has heard it
			}
			spec.Holds(ctx, harness.Case{
				Name:     "connection-breaks-at-" + strings.ToLower(call.name),
				Workload: harness.Workload{Fakeshim: "plain", Containers: []harness.Container{call.container}},
				Plan:     failpoints.Plan{failpoints.Once("rpc:shim:Task."+call.name+":entry", term.Close)},
				Bad:      bad,
			})
		})
	}
})

var _ = Describe("a shim that dies at a call", Label("shim", "crash"), func() {
	for _, call := range calls {
		for _, side := range sides {
			It(
				fmt.Sprintf("leaves nothing and no made-up exit code: %s, %s", call.name, side.what),
				spec.Quick,
				func(ctx context.Context) {
					spec.Holds(ctx, harness.Case{
						Name:     fmt.Sprintf("shim-dies-at-%s-%s", strings.ToLower(call.name), side.name),
						Workload: harness.Workload{Fakeshim: "plain", Containers: []harness.Container{call.container}},
						Plan:     failpoints.Plan{failpoints.Crash("rpc:shim:Task."+call.name+":"+side.name, 1)},
					})
				},
			)
		}
	}
})
