package cri

import (
	"context"
	"slices"
	"time"

	api "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/shimquake/shimquake/oracle/criview"
)

// relistEvery is how often kubelet lists pods and containers (its generic PLEG).
const relistEvery = time.Second

// late tells known pods and containers from objects that appear late. containerd may
// complete a call that timed out, after the client has removed everything.
type late struct {
	gaveUp bool // set after such a call timed out
	// known has the ids of the pods and containers that the client created or removed by a
	// successful call.
	known []string
}

func (l *late) note(id string) { l.known = append(l.known, id) }

// makes makes a call that creates a pod or a container. If the call ends without a
// response, because it timed out or was cancelled, makes sets gaveUp.
func (c *Client) makes(ctx context.Context, verb, of string,
	f func(context.Context, api.RuntimeServiceClient) error) error {
	return c.call(ctx, verb, of, func(ctx context.Context, rt api.RuntimeServiceClient) error {
		err := f(ctx, rt)
		c.late.gaveUp = c.late.gaveUp || err != nil && ctx.Err() != nil
		return err
	})
}

// RelistEvery returns the time between two lists, or 0 if no create call timed out.
func (c *Client) RelistEvery() time.Duration {
	if !c.late.gaveUp {
		return 0
	}
	return relistEvery
}

// Relist removes the pods and containers that no successful call created, and reports
// whether there were any. It ignores an object that the client removed and CRI still
// lists. The inventory after the removal has such objects.
func (c *Client) Relist(ctx context.Context) bool {
	var sandboxes, containers []criview.Item
	c.ask(ctx, func(ctx context.Context, rt api.RuntimeServiceClient) {
		sandboxes, containers, _ = criview.Lists(ctx, rt) // ignored: the inventory fails, too, if containerd is down
	})
	spare := func(id string) bool { return c.IsForeign(id) || slices.Contains(c.late.known, id) }
	known := func(k criview.Item) bool { return spare(k.ID) }
	sandboxes, containers = slices.DeleteFunc(sandboxes, known), slices.DeleteFunc(containers, known)
	for _, s := range sandboxes {
		_ = c.removeSandbox(ctx, s.ID, spare) // after an error, the inventory has the sandbox
	}
	for _, k := range containers {
		_ = c.call(ctx, "RemoveContainer", k.ID,
			func(ctx context.Context, rt api.RuntimeServiceClient) error { return c.removeContainer(ctx, rt, k.ID) })
	}
	return len(sandboxes)+len(containers) > 0
}
