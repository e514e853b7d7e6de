package cri

import (
	"context"
	"slices"
	"time"

	api "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// relistEvery is how often kubelet lists pods and containers (its generic PLEG).
const relistEvery = time.Second

// late tells pods and containers that are made late from known ones. containerd may
// carry out a call that was given up, after its client has removed all others.
type late struct {
	gaveUp bool
	// known are the ids of the pods and containers that an answered call has made or
	// removed.
	known []string
}

func (l *late) note(id string) { l.known = append(l.known, id) }

// makes sends a call that makes a pod or a container. The call counts as given up if it
// timed out or its client disconnected. A call with a response, even an error, does
// not.
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

// Relist removes the pods and containers that no answered call has made, and reports
// whether there were any. It ignores removed ones that are listed again: the last look
// records them.
func (c *Client) Relist(ctx context.Context) bool {
	bound, cancel := context.WithTimeout(ctx, c.CallTimeout)
	defer cancel()
	rt, err := c.rt(bound)
	if err != nil {
		return false // ignored: the last look reports a containerd that is down
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
		_ = c.removeSandbox(ctx, s.id, spare) // an error is ignored: the last look lists the sandbox
	}
	for _, k := range slices.DeleteFunc(containers, known) {
		_ = c.call(ctx, "RemoveContainer", k.id,
			func(ctx context.Context, rt api.RuntimeServiceClient) error { return c.removeContainer(ctx, rt, k.id) })
	}
	return len(sandboxes)+len(containers) > 0
}
