package cri

import (
	"context"
	"slices"
	"time"

	api "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// relistEvery is how often kubelet lists what there is (its generic PLEG).
const relistEvery = time.Second

// late is what may come after its call: containerd may carry out one that was given up,
// and make a pod or a container when its client has removed what there was.
type late struct {
	gaveUp bool
	// known are those that an answered call has made, or removed.
	known []string
}

func (l *late) note(id string) { l.known = append(l.known, id) }

// makes is a call that makes a pod or a container. It is given up where its own time has
// ended or its client has gone; an answer is none, whatever it says.
func (c *Client) makes(ctx context.Context, verb, of string,
	f func(context.Context, api.RuntimeServiceClient) error) error {
	return c.call(ctx, verb, of, func(ctx context.Context, rt api.RuntimeServiceClient) error {
		err := f(ctx, rt)
		c.late.gaveUp = c.late.gaveUp || err != nil && ctx.Err() != nil
		return err
	})
}

// RelistEvery is how long the client waits before it lists again.
func (c *Client) RelistEvery() time.Duration {
	if !c.late.gaveUp {
		return 0
	}
	return relistEvery
}

// Relist removes what no answered call has made, and reports whether there was any. What
// was removed already and is listed again is for others to say.
func (c *Client) Relist(ctx context.Context) bool {
	bound, cancel := context.WithTimeout(ctx, c.CallTimeout)
	defer cancel()
	rt, err := c.rt(bound)
	if err != nil {
		return false // what it comes to is for others to say
	}
	spare := func(id string) bool { return c.Spare(id) || slices.Contains(c.late.known, id) }
	known := func(k item) bool { return spare(k.id) }
	sandboxes, err := listSandboxes(bound, rt)
	if err != nil {
		return false
	}
	containers, err := listContainers(bound, rt)
	if err != nil {
		return false
	}
	sandboxes, containers = slices.DeleteFunc(sandboxes, known), slices.DeleteFunc(containers, known)
	for _, s := range sandboxes {
		_ = c.removeSandbox(ctx, s.id, spare) // what it cannot remove is there for all to see
	}
	for _, k := range slices.DeleteFunc(containers, known) {
		_ = c.call(ctx, "RemoveContainer", k.id,
			func(ctx context.Context, rt api.RuntimeServiceClient) error { return c.removeContainer(ctx, rt, k.id) })
	}
	return len(sandboxes)+len(containers) > 0
}
