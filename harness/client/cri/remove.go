package cri

import (
	"context"
	"slices"
	"time"

	api "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// remove is what kubelet does to get rid of a pod, known to it or not: it stops and
// removes every sandbox that there is but for a bystander's, and the containers before
// them; until nothing is listed any more.
func (c *Client) remove(ctx context.Context) error {
	var sandboxes []*api.PodSandbox
	err := c.call(ctx, "ListPodSandbox", "", func(ctx context.Context, rt api.RuntimeServiceClient) error {
		r, err := rt.ListPodSandbox(ctx, &api.ListPodSandboxRequest{})
		if err == nil {
			sandboxes = slices.DeleteFunc(r.Items, func(s *api.PodSandbox) bool { return c.Spare(s.Id) })
		}
		return err
	})
	if err != nil {
		return err
	}
	for _, s := range sandboxes {
		if err := c.removeSandbox(ctx, s.Id); err != nil {
			return err
		}
	}
	return c.removeContainers(ctx)
}

func (c *Client) removeSandbox(ctx context.Context, id string) error {
	err := c.call(ctx, "StopPodSandbox", "", func(ctx context.Context, rt api.RuntimeServiceClient) error {
		_, err := rt.StopPodSandbox(ctx, &api.StopPodSandboxRequest{PodSandboxId: id})
		return ignoreNotFound(err)
	})
	if err != nil {
		return err
	}
	c.done("StopPodSandbox", id)
	if err := c.removeContainers(ctx); err != nil {
		return err
	}
	c.awaitStopped(ctx, id)
	c.lookAtSandbox(ctx, id, true)
	err = c.call(ctx, "RemovePodSandbox", "", func(ctx context.Context, rt api.RuntimeServiceClient) error {
		_, err := rt.RemovePodSandbox(ctx, &api.RemovePodSandboxRequest{PodSandboxId: id})
		return ignoreNotFound(err)
	})
	if err == nil {
		c.done("RemovePodSandbox", id)
	}
	return err
}

func (c *Client) removeContainers(ctx context.Context) error {
	return c.call(ctx, "RemoveContainer", "", func(ctx context.Context, rt api.RuntimeServiceClient) error {
		r, err := rt.ListContainers(ctx, &api.ListContainersRequest{})
		if err != nil {
			return err
		}
		for _, k := range r.Containers {
			if c.Spare(k.Id) {
				continue
			}
			if _, err := rt.RemoveContainer(ctx, &api.RemoveContainerRequest{ContainerId: k.Id}); ignoreNotFound(err) != nil {
				return err
			}
			c.removed(k.Id)
		}
		return nil
	})
}

func (c *Client) removed(id string) {
	c.done("RemoveContainer", id)
	for _, i := range c.instances {
		if i.ID == id && i.Reported { // its task was deleted when it exited
			i.Deleted = time.Now()
		}
	}
}
