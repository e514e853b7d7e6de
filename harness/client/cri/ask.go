package cri

import (
	"context"
	"slices"
	"time"

	api "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/shimquake/shimquake/harness"
)

// Ask requests the status of a bystander's container, as kubelet does every second. In
// this call containerd executes no statement at which a fault can happen.
func (c *Client) Ask(ctx context.Context) error {
	i := c.instances[0]
	return c.call(ctx, "ContainerStatus", i.Name, func(ctx context.Context, rt api.RuntimeServiceClient) error {
		r, err := rt.ContainerStatus(ctx, &api.ContainerStatusRequest{ContainerId: i.ID})
		if err == nil {
			c.Beside.Told(harness.BystanderTold{Verb: "ContainerStatus", At: time.Now(), Listed: true,
				State: r.GetStatus().GetState().String()})
		}
		return err
	})
}

// AskOnce lists all containers and all pods, as kubelet does every second.
func (c *Client) AskOnce(ctx context.Context) error {
	err := c.askedList(ctx, "ListContainers", c.instances[0].ID, listContainers)
	if err != nil {
		return err
	}
	return c.askedList(ctx, "ListPodSandbox", c.sandboxID(), listSandboxes)
}

// askedList requests a list, and records its entry for an id.
func (c *Client) askedList(ctx context.Context, verb, id string,
	list func(context.Context, api.RuntimeServiceClient) ([]item, error)) error {
	return c.call(ctx, verb, "", func(ctx context.Context, rt api.RuntimeServiceClient) error {
		all, err := list(ctx, rt)
		if err != nil {
			return err
		}
		is := harness.BystanderTold{Verb: verb, At: time.Now()}
		if n := slices.IndexFunc(all, func(k item) bool { return k.id == id }); n >= 0 {
			is.Listed, is.State = true, all[n].state
		}
		c.Beside.Told(is)
		return nil
	})
}
