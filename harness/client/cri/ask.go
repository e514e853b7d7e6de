package cri

import (
	"context"
	"time"

	api "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/oracle/criview"
)

// Ask requests the status of a bystander's container, as kubelet does every second. In
// this call containerd executes no statement at which a fault can happen.
func (c *Client) Ask(ctx context.Context) error {
	return c.askState(ctx, "ContainerStatus", func(ctx context.Context, _ api.RuntimeServiceClient) (string, error) {
		is, _, err := c.containerStatus(ctx, c.instances[0])
		return is.GetState().String(), err
	})
}

// AskOnce lists all containers and all pods, as kubelet does every second.
func (c *Client) AskOnce(ctx context.Context) error {
	err := c.askState(ctx, "ListContainers", listed(criview.ListContainers, c.instances[0].ID))
	if err != nil {
		return err
	}
	return c.askState(ctx, "ListPodSandbox", listed(criview.ListSandboxes, c.sandboxID()))
}

// askState gets a state by a call, and records it.
func (c *Client) askState(ctx context.Context, verb string, ask stateGetter) error {
	return c.call(ctx, verb, "", func(ctx context.Context, rt api.RuntimeServiceClient) error {
		state, err := ask(ctx, rt)
		if err == nil {
			c.Beside.Told(harness.BystanderTold{Verb: verb, At: time.Now(), Listed: state != "", State: state})
		}
		return err
	})
}
