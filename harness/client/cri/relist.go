package cri

import (
	"context"
	"slices"
	"time"

	"google.golang.org/grpc/codes"
	api "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/shimquake/shimquake/oracle"
)

// relistEvery is how often kubelet lists what there is (its generic PLEG).
const relistEvery = time.Second

// makes is a call that makes a pod or a container. containerd may carry out one that the
// client has given up, and make it after the client has removed what there was.
func (c *Client) makes(ctx context.Context, verb, of string,
	f func(context.Context, api.RuntimeServiceClient) error) error {
	err := c.call(ctx, verb, of, f)
	if is := oracle.FailedOf(err); is != nil &&
		(is.Code == codes.Canceled.String() || is.Code == codes.DeadlineExceeded.String()) {
		c.gaveUp = true
	}
	return err
}

// RelistEvery is how long kubelet waits before it lists again.
func (c *Client) RelistEvery() time.Duration {
	if !c.gaveUp {
		return 0
	}
	return relistEvery
}

// Relist removes what there is by now, but not what was removed already: that it is
// listed again is for others to say.
func (c *Client) Relist(ctx context.Context) {
	rt, err := c.rt(ctx)
	if err != nil {
		return // what it comes to is for others to say
	}
	known := func(k item) bool { return c.Spare(k.id) || slices.Contains(c.gone, k.id) }
	sandboxes, err := listSandboxes(ctx, rt, selector{})
	if err != nil {
		return
	}
	for _, s := range slices.DeleteFunc(sandboxes, known) {
		_ = c.removeSandbox(ctx, s.id) // what it cannot remove is there for all to see
	}
	containers, err := listContainers(ctx, rt, selector{})
	if err != nil {
		return
	}
	for _, k := range slices.DeleteFunc(containers, known) {
		_ = c.call(ctx, "RemoveContainer", c.nameOf(k.id),
			func(ctx context.Context, rt api.RuntimeServiceClient) error { return c.removeContainer(ctx, rt, k.id) })
	}
}
