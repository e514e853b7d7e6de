package cri

import (
	"context"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	api "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/harness/client"
	"github.com/shimquake/shimquake/harness/script"
	"github.com/shimquake/shimquake/oracle/callerr"
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
		c.observe(ctx, step, harness.FieldList, of, listed(listContainers, i.ID))
	}
	if id := c.sandboxID(); id != "" {
		of, list := script.ThePod.String(), listed(listSandboxes, id)
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
func listed(list func(context.Context, api.RuntimeServiceClient) ([]item, error), id string) stateGetter {
	return func(ctx context.Context, rt api.RuntimeServiceClient) (string, error) {
		all, err := list(ctx, rt)
		for _, k := range all {
			if k.id == id {
				return k.state, err
			}
		}
		return "", err
	}
}

// observe requests a value of an object, and records it. A request that was not sent
// observes nothing, nor does one that failed at the end of the script's time.
func (c *Client) observe(ctx context.Context, step int, field, of string, ask stateGetter) {
	o := harness.Observed{Step: step, At: time.Now(), Of: of, Field: field}
	limited, cancel := context.WithTimeout(ctx, c.CallTimeout)
	defer cancel()
	rt, err := c.rt(limited)
	if client.Over(limited) != nil {
		return
	}
	if err == nil {
		o.Value, err = ask(limited, rt)
	}
	if err != nil && client.Over(ctx) != nil {
		return
	}
	o.Took = time.Since(o.At)
	if err != nil {
		o.Value = ""
	}
	if status.Code(err) != codes.NotFound {
		o.Err = callerr.Of(err)
	}
	c.Record.Set(func(h *harness.History) { h.Observed = append(h.Observed, o) })
}
