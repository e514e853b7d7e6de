package runner

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/oracle/inventory"
	"github.com/shimquake/shimquake/poll"
)

// at is called when the workload reaches a state, such as running. It injects the faults
// of the plan for that state.
func (x *run) at(ctx context.Context, state string) {
	if state == "exited" {
		x.findChildren(ctx)
	}
	x.inject.At(ctx, state)
}

const (
	// dying is how long a killed process may take to end. It takes milliseconds.
	dying = time.Second
	// dyingLook is the time between two checks.
	dyingLook = 10 * time.Millisecond
)

// findChildren records processes that still run after containerd reported the exit of
// their container's init. With CRI there are none, because CRI deletes the task before it
// reports the exit, and runc then kills the remaining processes.
func (x *run) findChildren(ctx context.Context) {
	children := func(k harness.Container) bool { return k.Children > 0 }
	if x.Workload.API == harness.CRI || !slices.ContainsFunc(x.Workload.Containers, children) {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, dying)
	defer cancel()
	var left []harness.Outlived
	err := poll.Until(ctx, dyingLook, func() (done bool, err error) {
		left, err = x.outlived()
		return len(left) == 0, err
	})
	if err != nil && ctx.Err() == nil {
		x.record.Problem(harness.ByLook, err)
		return
	}
	x.record.Set(func(h *harness.History) { h.Outlived = left })
}

// outlived returns the running processes of containers whose exit was reported.
func (x *run) outlived() (left []harness.Outlived, err error) {
	all, err := inventory.Processes(x.scene())
	for _, i := range x.client.Instances() {
		for _, p := range all {
			if i.Reported && !p.Zombie() && p.Shim == nil && strings.HasSuffix(p.Cgroup, "/"+i.ID) {
				left = append(left, harness.Outlived{Container: i.ID, PID: p.PID, Name: p.Comm})
			}
		}
	}
	return left, err
}
