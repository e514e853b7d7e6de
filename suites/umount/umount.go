// Package umount has the specs about an umount2 that takes longer than its caller
// waits. A slow disk, or a delay that strace injects, keeps the shim from unmounting a
// container in time.
package umount

import (
	"time"

	. "github.com/onsi/ginkgo/v2"

	"github.com/shimquake/shimquake/failpoints"
	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/suites/spec"
)

// 60 MiB at 4 MiB/s delay umount2 for 15 s, past CRI's 10 s for an exit event
// (handleEventTimeout). 20 MiB delay it for 5 s.
const (
	tooMuchForCRI = "4MiB/s,60MiB"
	fiveSeconds   = "4MiB/s,20MiB"
)

// pod returns a pod of one container. Its client's calls have this timeout; 0 means
// kubelet's timeout.
func pod(timeout time.Duration) harness.Workload {
	return harness.Workload{
		API:         harness.CRI,
		CallTimeout: timeout,
		TimeLimit:   3 * time.Minute,
		Containers:  []harness.Container{{Exit: 7}},
	}
}

// task returns a container. Its client's calls have this timeout.
func task(timeout time.Duration) harness.Workload {
	return harness.Workload{CallTimeout: timeout, TimeLimit: 2 * time.Minute, Containers: []harness.Container{{Exit: 7}}}
}

func pressure(rates string) failpoints.Plan {
	return failpoints.Plan{failpoints.Pressure("io:root:exited", rates)}
}

func slow(d time.Duration) failpoints.Plan {
	return failpoints.Plan{failpoints.SlowSyscall("sys:shim:umount2:exited", d)}
}

var _ = Describe("a pod whose umount2 outlasts CRI's 10 s", spec.Slow, spec.Pressure,
	Label("cri", "shim", "issue:7496", "issue:8931"), func() {
		spec.It("leaves no shim when the disk is under pressure", spec.Named("umount-io-pressure"))
		spec.It("leaves no shim when the client gives up before CRI does, and retries", harness.Case{
			Name:     "umount-pressure-client-gives-up",
			Workload: pod(4 * time.Second),
			Bugs:     []string{"containerd-7496"},
			Plan:     pressure(tooMuchForCRI),
		})
	})

var _ = Describe("a pod whose umount2 is slow, and in time", Label("cri", "shim"), func() {
	spec.It("leaves nothing when every umount2 takes 300 ms", harness.Case{
		Name: "umount-slow-pod", Workload: pod(0), Plan: slow(300 * time.Millisecond),
	}, spec.Quick)
	spec.It("leaves nothing when the client gives up meanwhile, before CRI does", harness.Case{
		Name: "umount-slow-pod-client-gives-up", Workload: pod(5 * time.Second), Plan: slow(3 * time.Second),
	}, spec.Slow)
})

var _ = Describe("a task whose umount2 outlasts the client's Delete", Label("shim"), func() {
	spec.It("is gone after the client's next Delete when the disk is under pressure", harness.Case{
		Name:     "umount-pressure-task",
		Workload: task(4 * time.Second),
		Bugs:     []string{"containerd-14113"},
		Plan:     pressure(fiveSeconds),
	}, spec.Slow, spec.Pressure)
	spec.It("is gone after a Delete that was slow, and in time", harness.Case{
		Name:     "umount-slow-task-in-time",
		Workload: task(10 * time.Second),
		Plan:     slow(200 * time.Millisecond),
	}, spec.Quick)
})
