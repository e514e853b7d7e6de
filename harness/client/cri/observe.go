package cri

import (
	"context"

	containerd "github.com/containerd/containerd/v2/client"
	"google.golang.org/grpc"
	api "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/harness/script"
	"github.com/shimquake/shimquake/oracle/criview"
)

// query records the states of the pod and of its containers, from status calls and from
// CRI's lists.
func (c *Client) query(ctx context.Context, step int) {
	c.mu.Lock()
	containers := map[string]*harness.Instance{}
	for n, i := range c.of {
		if i.ID != "" {
			containers[script.Container(n).String()] = i
		}
	}
	c.mu.Unlock()
	for of, i := range containers {
		c.observe(ctx, step, harness.FieldState, of, func(ctx context.Context, _ api.RuntimeServiceClient) (string, error) {
			is, err := c.notedStatus(ctx, i)
			return is.GetState().String(), err
		})
		c.observe(ctx, step, harness.FieldList, of, listed(criview.ListContainers, i.ID))
	}
	if id := c.sandboxID(); id != "" {
		of, list := script.ThePod.String(), listed(criview.ListSandboxes, id)
		c.observe(ctx, step, harness.FieldState, of, func(ctx context.Context, rt api.RuntimeServiceClient) (string, error) {
			r, err := rt.PodSandboxStatus(ctx, &api.PodSandboxStatusRequest{PodSandboxId: id})
			if err == nil && r.GetStatus().GetState() != api.PodSandboxState_SANDBOX_READY {
				list = untilNotReady(list)
			}
			return r.GetStatus().GetState().String(), err
		})
		c.observe(ctx, step, harness.FieldList, of, list)
	}
}

// A stateGetter gets the state of an object.
type stateGetter func(context.Context, api.RuntimeServiceClient) (string, error)

// listed gets the state of an id in a list, or "" if the list lacks the id.
func listed(list func(context.Context, api.RuntimeServiceClient) ([]criview.Item, error), id string) stateGetter {
	return func(ctx context.Context, rt api.RuntimeServiceClient) (string, error) {
		all, err := list(ctx, rt)
		for _, k := range all {
			if k.ID == id {
				return k.State, err
			}
		}
		return "", err
	}
}

// observe requests a value of an object, and records it.
func (c *Client) observe(ctx context.Context, step int, field, of string, ask stateGetter) {
	_ = c.Observe(ctx, step, field, []string{of}, // the record has the error
		func(ctx context.Context, _ *containerd.Client, conn *grpc.ClientConn) (map[string]string, error) {
			value, err := ask(ctx, api.NewRuntimeServiceClient(conn))
			if err != nil {
				return nil, err
			}
			return map[string]string{of: value}, nil
		})
}
