// Package umount holds the specs about an umount2 that takes longer than whoever waits
// for it: what must hold when a disk under pressure, or strace, keeps the shim from
// unmounting a container in time.
package umount

import (
	"context"
	"time"

	. "github.com/onsi/ginkgo/v2"

	"github.com/shimquake/shimquake/failpoints"
	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/suites/spec"
)

// 60 MiB at 4 MiB/s keep umount2 for 15 s, past the 10 s that CRI gives an exit event
// (handleEventTimeout); 20 MiB for 5 s.
const (
	tooMuchForCRI = "4MiB/s,60MiB"
	fiveSeconds   = "4MiB/s,20MiB"
)

// forgotten are the releases whose second StopPodSandbox takes the NotFound of a
// half-deleted task for the end of its shim.
var forgotten = []harness.Bad{
	{Releases: "< 1.6.24 || >= 1.7.0, < 1.7.4", By: spec.ShimLeft, Issue: "containerd#7496"},
}

// madeUp are the releases on which the client's second Delete finds a half-deleted task,
// ends its shim, and the clean-up after the closed connection then tells 137 of a
// container that has exited with 7.
var madeUp = []harness.Bad{
	{Releases: "< 2.4.0", By: spec.MadeUp137, May: spec.AlsoMadeUp137, Issue: "containerd#14113"},
}

// pod is a pod of one container whose client gives each call that long; 0: as long as
// kubelet does.
func pod(timeout time.Duration) harness.Workload {
	return harness.Workload{
		API:         harness.CRI,
		CallTimeout: timeout,
		Deadline:    3 * time.Minute,
		Containers:  []harness.Container{{Exit: 7}},
	}
}

// task is a container whose client gives each call that long.
func task(timeout time.Duration) harness.Workload {
	return harness.Workload{CallTimeout: timeout, Deadline: 2 * time.Minute, Containers: []harness.Container{{Exit: 7}}}
}

func pressure(rates string) failpoints.Plan {
	return failpoints.Plan{failpoints.Pressure("io:root:exited", rates)}
}

func slow(d time.Duration) failpoints.Plan {
	return failpoints.Plan{failpoints.SlowSyscall("sys:shim:umount2:exited", d)}
}

var _ = Describe(
	"a pod whose umount2 outlasts CRI's 10 s",
	spec.Slow, Label("cri", "shim", "issue:7496", "issue:8931"),
	func() {
		It("leaves no shim when the disk is under pressure", spec.Pressure, func(ctx context.Context) {
			spec.Holds(ctx, spec.Named("umount-io-pressure"))
		})
		It(
			"leaves no shim when the client gives up before CRI does, and comes back",
			spec.Pressure,
			func(ctx context.Context) {
				spec.Holds(
					ctx,
					harness.Case{
						Name:     "umount-pressure-client-gives-up",
						Workload: pod(4 * time.Second),
						Bad:      forgotten,
						Plan:     pressure(tooMuchForCRI),
					},
				)
			},
		)
	},
)

var _ = Describe("a pod whose umount2 is slow, and in time", Label("cri", "shim"), func() {
	It("leaves nothing when every umount2 takes 300 ms", spec.Quick, func(ctx context.Context) {
		spec.Holds(ctx, harness.Case{Name: "umount-slow-pod", Workload: pod(0), Plan: slow(300 * time.Millisecond)})
	})
	It("leaves nothing when the client gives up meanwhile, before CRI does", spec.Slow, func(ctx context.Context) {
		spec.Holds(
			ctx,
			harness.Case{Name: "umount-slow-pod-client-gives-up", Workload: pod(5 * time.Second), Plan: slow(3 * time.Second)},
		)
	})
})

var _ = Describe("a task whose umount2 outlasts the client's Delete", Label("shim"), func() {
	It(
		"is gone after the client's next Delete when the disk is under pressure",
		spec.Slow,
		spec.Pressure,
		func(ctx context.Context) {
			spec.Holds(
				ctx,
				harness.Case{
					Name:     "umount-pressure-task",
					Workload: task(4 * time.Second),
					Bad:      madeUp,
					Plan:     pressure(fiveSeconds),
				},
			)
		},
	)
	It("is gone after a Delete that was slow, and in time", spec.Quick, func(ctx context.Context) {
		spec.Holds(
			ctx,
			harness.Case{
				Name:     "umount-slow-task-in-time",
				Workload: task(10 * time.Second),
				Plan:     slow(200 * time.Millisecond),
			},
		)
	})
})
