package cri

import (
	"context"
	"sync/atomic"
	"time"

	api "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/poll"
)

// updateEvery is the pause between two updates: a containerd that is down, or a container
// that never ends, is not to be asked without any.
const updateEvery = 5 * time.Millisecond

// fewShares are half of what a container has by default.
const fewShares = 512

// update changes a container's share of CPUs, again and again, from when it is about to
// end until what it returns is called. What each comes to is nobody's business: the
// container may have ended before it or meanwhile, and must be told of all the same.
func (c *Client) update(ctx context.Context, i *harness.Instance) (end func()) {
	if !i.Spec.Updated || c.Quiet || c.again {
		return func() {}
	}
	rt, err := c.rt(ctx)
	if err != nil {
		return func() {} // what it comes to is for others to say
	}
	var enough atomic.Bool
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = poll.Until(ctx, updateEvery, func() (bool, error) {
			_, _ = rt.UpdateContainerResources(ctx, &api.UpdateContainerResourcesRequest{
				ContainerId: i.ID, Linux: &api.LinuxContainerResources{CpuShares: fewShares}})
			return enough.Load(), nil
		})
	}()
	<-time.After(underWay) // that one is with the shim is not to be seen
	return func() {
		enough.Store(true)
		<-done // one that is given up changes nothing
	}
}
