package cri

import (
	"context"
	"errors"
	"slices"
	"time"

	"golang.org/x/sys/unix"
	api "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/shimquake/shimquake/harness"
)

// remove removes all pods as kubelet does, including pods that the client does not know.
// It stops each listed sandbox, removes its containers, and then the sandbox. It spares
// bystanders.
func (c *Client) remove(ctx context.Context) error {
	var sandboxes []*api.PodSandbox
	var asked, answered time.Time
	err := c.call(ctx, "ListPodSandbox", "", func(ctx context.Context, rt api.RuntimeServiceClient) error {
		asked = time.Now()
		r, err := rt.ListPodSandbox(ctx, &api.ListPodSandboxRequest{})
		if answered = time.Now(); err == nil {
			sandboxes = slices.DeleteFunc(r.Items, func(s *api.PodSandbox) bool { return c.IsForeign(s.Id) })
		}
		return err
	})
	if err != nil {
		return err
	}
	for _, s := range sandboxes {
		if s.Id != c.sandboxID() && !c.again {
			is := harness.SandboxSeen{ID: s.Id, State: s.State.String(), At: asked, Answered: answered}
			c.note(func(seen *harness.CRISeen) { seen.Unanswered = append(seen.Unanswered, is) })
		}
		if err := c.removeSandbox(ctx, s.Id, c.IsForeign); err != nil {
			return err
		}
	}
	return c.removeContainers(ctx, c.IsForeign)
}

// stopSandbox stops a sandbox and its containers.
func (c *Client) stopSandbox(ctx context.Context, id string) error {
	var ran []*harness.Instance
	for _, i := range c.instances {
		mine := i.ID != "" && id == c.sandboxID()
		late := mine && i.Started.IsZero() && c.startedLate(ctx, i)
		if (i.WithPod || late) && i.ID != "" && i.Waited.IsZero() {
			c.Record.Sent(i.ID, int(unix.SIGKILL))
		}
		if late || mine && i.WithPod && !i.Started.IsZero() {
			ran = append(ran, i)
		}
	}
	err := ignoreNotFound(c.call(ctx, "StopPodSandbox", "", func(ctx context.Context, rt api.RuntimeServiceClient) error {
		_, err := rt.StopPodSandbox(ctx, &api.StopPodSandboxRequest{PodSandboxId: id})
		return err
	}))
	if err != nil {
		return err
	}
	c.done("StopPodSandbox", id)
	for _, i := range ran { // CRI reports any other container as exited, too, but it had no task
		c.done("StopPodSandbox", i.ID)
		_, _ = c.requestStatus(ctx, i) // the next call of the client reports an error
	}
	return nil
}

// startFailed is the reason in containerd's status of a container that never ran
// (errorStartReason in internal/cri/server/container_start.go).
const startFailed = "StartError"

// startedLate reports whether a container runs, or has exited, although the client got no
// response to StartContainer.
func (c *Client) startedLate(ctx context.Context, i *harness.Instance) bool {
	is, err := c.notedStatus(ctx, i)
	return err == nil && (is.State == api.ContainerState_CONTAINER_RUNNING ||
		is.State == api.ContainerState_CONTAINER_EXITED && is.Reason != startFailed)
}

// removeSandbox stops a sandbox, removes all containers except the spared ones, and then
// removes the sandbox.
func (c *Client) removeSandbox(ctx context.Context, id string, spare func(id string) bool) error {
	if err := c.stopSandbox(ctx, id); err != nil {
		return err
	}
	if err := c.removeContainers(ctx, spare); err != nil {
		return err
	}
	c.awaitStopped(ctx, id)
	c.noteSandbox(ctx, id, true)
	return c.removeSandboxItself(ctx, id)
}

// removeSandboxItself removes a sandbox with one call. containerd itself stops the
// sandbox, and removes its containers.
func (c *Client) removeSandboxItself(ctx context.Context, id string) error {
	err := ignoreNotFound(c.call(ctx, "RemovePodSandbox", "", func(
		ctx context.Context, rt api.RuntimeServiceClient,
	) error {
		_, err := rt.RemovePodSandbox(ctx, &api.RemovePodSandboxRequest{PodSandboxId: id})
		return err
	}))
	if err == nil {
		c.late.note(id)
		c.done("RemovePodSandbox", id)
	}
	return err
}

func (c *Client) removeContainers(ctx context.Context, spare func(id string) bool) error {
	return c.call(ctx, "RemoveContainer", "", func(ctx context.Context, rt api.RuntimeServiceClient) error {
		r, err := rt.ListContainers(ctx, &api.ListContainersRequest{})
		if err != nil {
			return err
		}
		for _, k := range r.Containers {
			if spare(k.Id) {
				continue
			}
			if err := c.removeContainer(ctx, rt, k.Id); err != nil {
				return err
			}
		}
		return nil
	})
}

func (c *Client) removeContainer(ctx context.Context, rt api.RuntimeServiceClient, id string) error {
	_, err := rt.RemoveContainer(ctx, &api.RemoveContainerRequest{ContainerId: id})
	if err = ignoreNotFound(err); err == nil {
		c.removed(id)
	}
	return err
}

// removeNamed removes all containers with the name of i, including containers that the
// client does not know. It leaves other containers running.
func (c *Client) removeNamed(ctx context.Context, i *harness.Instance) error {
	return c.call(ctx, "RemoveContainer", i.Name, func(ctx context.Context, rt api.RuntimeServiceClient) error {
		r, err := rt.ListContainers(ctx, &api.ListContainersRequest{})
		listed := false
		for _, k := range r.GetContainers() {
			if k.GetMetadata().GetName() == i.CRIName() && !c.IsForeign(k.Id) {
				listed = listed || k.Id == i.ID
				err = errors.Join(err, c.removeContainer(ctx, rt, k.Id))
			}
		}
		if !listed && i.ID != "" {
			_, gone := rt.RemoveContainer(ctx, &api.RemoveContainerRequest{ContainerId: i.ID})
			err = errors.Join(err, gone)
		}
		return err
	})
}

func (c *Client) removed(id string) {
	c.late.note(id)
	c.done("RemoveContainer", id)
	for _, i := range c.instances {
		if i.ID == id && i.Reported { // CRI deleted the task when the container exited
			i.Deleted = time.Now()
		}
	}
}
