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

// at is called when the workload has come to a state.
func (x *run) at(ctx context.Context, state string) {
	if state == "exited" {
		x.lookForChildren(ctx)
	}
	x.inject.At(ctx, state)
}

const (
	// dying is how long a process that was killed may take to end; it takes milliseconds.
	dying = time.Second
	// dyingLook is how often it is looked for.
	dyingLook = 10 * time.Millisecond
)

// lookForChildren looks for what has outlived the init of a container whose exit was
// reported. CRI deletes a container before its client hears of it, and runc kills then
// what is left.
func (x *run) lookForChildren(ctx context.Context) {
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

// outlived are the processes of containers whose exit was reported.
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
